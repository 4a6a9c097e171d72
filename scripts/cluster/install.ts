import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { Redacted } from "../../src/lib/redacted.ts";
import { certificate } from "../../test/lab/certificates.ts";
import { Helm, operatorRelease, type Release, vaultRelease } from "../../test/lab/helm/helm.ts";
import type { NodeCluster } from "../../test/lab/node/node-cluster.ts";
import { account } from "../demo/vault-account.ts";
import { imageRepository } from "./image.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const program = join(root, "src/main.ts");
const nodePort = 30_443;
/** Either is the one of the vault's data: the cluster decides. */
const volumes = ["vault-data", "vault-audit"];

/** A vault in a cluster, and how to reach it. */
export interface InstalledVault {
  /** For the operator. */
  readonly url: string;
  /** For programs of this machine. */
  readonly outsideUrl: string;
  /** The authority of its certificate, as PEM. */
  readonly ca: string;
  /** Password of the account in examples/demo. */
  readonly password: Redacted<string>;
}

/** Installs a chart, with the image of this checkout. @throws Error with Helm's message */
async function installChart(
  cluster: NodeCluster,
  { chart, name, namespace }: Release,
  values: readonly string[],
): Promise<void> {
  await using helm = await Helm.create(cluster.kubeconfigPath);
  const settings = [`image.repository=${imageRepository}`, "image.pullPolicy=Never", ...values];
  const args = ["install", name, chart, `--namespace=${namespace}`, "--wait", "--timeout=5m"];
  const { code, stderr } = await helm.run([...args, ...settings.map((one) => `--set=${one}`)]);
  if (code !== 0) throw new Error(`helm install ${name}: ${stderr.trim()}`);
}

/** Installs the operator for all namespaces, as docs/install.md does. */
export async function installOperator(
  cluster: NodeCluster,
  values: readonly string[] = [],
): Promise<void> {
  const namespace = join(root, "deploy/cluster/namespace.yaml");
  await cluster.kubectlOutput(["apply", "--filename", namespace]);
  await installChart(cluster, operatorRelease, values);
}

/** Writes the Secrets that the vault's chart expects. Returns the authority of the certificate. */
async function createVaultSecrets(
  cluster: NodeCluster,
  namespace: string,
  hosts: readonly string[],
): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-keys-"));
  try {
    const authority = certificate("vaultsync cluster");
    const { cert, keyPem } = certificate("vault", { issuer: authority, hosts });
    const file = (name: string): string => join(directory, name);
    await run(process.execPath, [program, "vault", "key", "generate", file("master.key")]);
    await writeFile(file("tls.crt"), cert);
    await writeFile(file("tls.key"), keyPem, { mode: 0o600 });
    const create = (type: string, ...args: string[]): Promise<string> =>
      cluster.kubectlOutput(["create", "secret", type, ...args], { namespace });
    await create("generic", "vault-master-key", `--from-file=${file("master.key")}`);
    await create("tls", "vault-tls", `--cert=${file("tls.crt")}`, `--key=${file("tls.key")}`);
    return authority.cert;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Installs the vault with SQLite and TLS, with one account, as docs/vault-server.md does. */
export async function installVault(cluster: NodeCluster): Promise<InstalledVault> {
  await cluster.kubectlOutput(["apply", "--filename", join(root, "deploy/vault/namespace.yaml")]);
  await cluster.addVolumes(volumes);
  const issuer = await writeIssuerKeys(cluster);
  return installVaultRelease(cluster, vaultRelease, nodePort, [
    `flags.identityIssuers={${issuer}=/data/${issuerKeys}}`,
    `flags.identityAudiences=${urlIn(vaultRelease)}`,
  ]);
}

const hostIn = ({ name, namespace }: Release): string => `${name}.${namespace}.svc`;
const urlIn = (release: Release): string => `https://${hostIn(release)}`;

/**
 * Installs a vault with these values and one account into an existing namespace. `port` is its port
 * on the node.
 */
export async function installVaultRelease(
  cluster: NodeCluster,
  release: Release,
  port: number,
  values: readonly string[],
): Promise<InstalledVault> {
  const { namespace } = release;
  const { address } = cluster.layout;
  const ca = await createVaultSecrets(cluster, namespace, [hostIn(release), address]);
  await installChart(cluster, release, [`flags.allowedHosts={${hostIn(release)}}`, ...values]);
  await cluster.apply([outsideService(namespace, port)]);
  const password = new Redacted(randomBytes(18).toString("base64url"));
  const command = ["/usr/local/bin/node", "/app/dist/main.js", "vault", "user", "add", account];
  await cluster.kubectlOutput(["exec", "--stdin", "vault-0", "--", ...command], {
    namespace,
    input: `${password.reveal()}\n`,
  });
  return { url: urlIn(release), outsideUrl: `https://${address}:${port}`, ca, password };
}

/** File in the vault's volume with the keys of the cluster's ServiceAccounts. */
const issuerKeys = "issuer-keys.json";

const discovery = z.object({ issuer: z.string() });

/** Returns the issuer of the tokens of a cluster's ServiceAccounts. */
export async function issuerOf(cluster: NodeCluster): Promise<string> {
  const path = "/.well-known/openid-configuration";
  return discovery.parse(JSON.parse(await cluster.kubectlOutput(["get", "--raw", path]))).issuer;
}

/** Writes the keys of the cluster's issuer to the vault's volume. Returns the issuer. */
async function writeIssuerKeys(cluster: NodeCluster): Promise<string> {
  const keys = await cluster.kubectlOutput(["get", "--raw", "/openid/v1/jwks"]);
  for (const volume of volumes)
    await writeFile(join(cluster.directory, "volumes", volume, issuerKeys), keys);
  return issuerOf(cluster);
}

function outsideService(namespace: string, port: number): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "vault-outside", namespace },
    spec: {
      type: "NodePort",
      selector: { "app.kubernetes.io/name": "vaultsync-vault" },
      ports: [{ port: 443, targetPort: "https", nodePort: port }],
    },
  };
}
