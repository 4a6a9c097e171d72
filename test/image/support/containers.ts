import { randomBytes } from "node:crypto";
import { chown, mkdir, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { setDefaultCACertificates, getCACertificates } from "node:tls";
import { account } from "../../../scripts/demo/vault-account.ts";
import { timeToReady, type StartTime } from "../../../scripts/image/start-time.ts";
import { Redacted } from "../../../src/lib/redacted.ts";
import { certificate } from "../../lab/certificates.ts";
import { freePort } from "../../lab/control-plane/supervisor/free-port.ts";
import { ConfinedContainer } from "./confined-container.ts";
import { idsOf } from "./container-spec.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import type { AdmittedPod } from "./admitted-pod.ts";
import { inject } from "vitest";
import { z } from "zod";

/** Returns a non-loopback address of this machine: the operator would reject the loopback one. */
function address(): string {
  const found = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === "IPv4" && !each.internal);
  if (found === undefined)
    throw new Error("this machine has no address but loopback: connect it to a network");
  return found.address;
}

/**
 * `vault serve` in a container, on https with a certificate of a test authority. This process
 * trusts that authority from then on. The data and the master key are in a directory, with one account.
 * Disposing it ends the server.
 */
export class VaultContainer implements AsyncDisposable {
  readonly url: string;
  readonly metricsUrl: string;
  readonly #authority = certificate("test authority");
  readonly password = new Redacted(randomBytes(18).toString("base64url"));
  readonly #data: string;
  readonly #certificates: string;
  #container: ConfinedContainer | undefined;

  private constructor(url: string, metricsUrl: string, directory: string) {
    this.url = url;
    this.metricsUrl = metricsUrl;
    this.#data = join(directory, "vault-data");
    this.#certificates = join(directory, "vault-certificates");
  }

  /** Creates key and account, without starting the server. Its files are in `directory`. */
  static async create(directory: string): Promise<VaultContainer> {
    const url = `https://${address()}:${await freePort()}`;
    const vault = new VaultContainer(url, `http://127.0.0.1:${await freePort()}`, directory);
    await mkdir(vault.#data, { mode: 0o700 });
    const { uid, gid } = idsOf(inject("image").unpacked.config.User);
    await chown(vault.#data, uid, gid);
    await vault.#writeCertificate();
    await vault.#command(["key", "generate", "/data/master.key"]);
    const data = ["--data", "/data/vault.db", "--master-key-file", "/data/master.key"];
    await vault.#command(["user", "add", account, ...data], `${vault.password.reveal()}\n`);
    return vault;
  }

  async #writeCertificate(): Promise<void> {
    const { cert, keyPem } = certificate("vault", {
      issuer: this.#authority,
      hosts: [new URL(this.url).hostname],
    });
    await mkdir(this.#certificates, { mode: 0o755 });
    await writeFile(join(this.#certificates, "tls.crt"), cert);
    // The container's user is none of this machine.
    await writeFile(join(this.#certificates, "tls.key"), keyPem, { mode: 0o644 });
    setDefaultCACertificates([...getCACertificates("default"), this.ca]);
  }

  /** Runs a command of the vault on its data, as confined as the server. */
  async #command(args: readonly string[], input = ""): Promise<void> {
    await using container = await ConfinedContainer.start({
      command: ["vault", ...args],
      mounts: [{ source: this.#data, target: "/data" }],
      input,
    });
    await container.succeed();
  }

  /** Certificate of the authority, as PEM. */
  get ca(): string {
    return this.#authority.cert;
  }

  get container(): ConfinedContainer {
    if (this.#container === undefined) throw new Error("the vault is not started");
    return this.#container;
  }

  /** Starts the server, or starts a new one on the same data after `container.stop()`. */
  async start(): Promise<StartTime> {
    await this.#container?.[Symbol.asyncDispose]();
    const started = performance.now();
    this.#container = await ConfinedContainer.start({
      hasNetwork: true,
      command: [
        "vault",
        "serve",
        "--data=/data/vault.db",
        "--master-key-file=/data/master.key",
        `--listen=${new URL(this.url).host}`,
        `--metrics-listen=${new URL(this.metricsUrl).host}`,
        "--tls-cert-file=/certificates/tls.crt",
        "--tls-key-file=/certificates/tls.key",
      ],
      mounts: [
        { source: this.#data, target: "/data" },
        { source: this.#certificates, target: "/certificates", readOnly: true },
      ],
    });
    return timeToReady(this.url, started);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#container?.[Symbol.asyncDispose]();
  }
}

const TokenResponse = z.object({ status: z.object({ token: z.string() }) });
const ConfigMap = z.object({ data: z.record(z.string(), z.string()) });

/** Requests a token for the pod's ServiceAccount that is bound to the pod, as a kubelet does. */
async function requestToken(
  controlPlane: ControlPlane,
  { metadata, spec }: AdmittedPod,
  wanted: { readonly expirationSeconds: number; readonly audience?: string | undefined },
): Promise<string> {
  const path = `/api/v1/namespaces/${metadata.namespace}/serviceaccounts/${spec.serviceAccountName}/token`;
  const { status, body } = await controlPlane.request("POST", path, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {
      expirationSeconds: wanted.expirationSeconds,
      ...(wanted.audience === undefined ? {} : { audiences: [wanted.audience] }),
      boundObjectRef: { apiVersion: "v1", kind: "Pod", name: metadata.name, uid: metadata.uid },
    },
  });
  if (status !== 201)
    throw new Error(`cannot create a token for pod ${metadata.name}: status ${status}`);
  return TokenResponse.parse(JSON.parse(body)).status.token;
}

/**
 * Writes the files of the pod's projected volume into a new directory, readable for the container's
 * user. Returns its path.
 */
async function writeServiceAccountVolume(
  controlPlane: ControlPlane,
  pod: AdmittedPod,
): Promise<string> {
  const directory = join(controlPlane.directory, `volume-${pod.metadata.uid}`);
  await mkdir(directory, { mode: 0o755 });
  const write = (path: string, text: string): Promise<void> =>
    writeFile(join(directory, path), text, { mode: 0o444 });
  const [volume] = pod.spec.volumes;
  for (const source of volume.projected.sources) {
    if ("serviceAccountToken" in source) {
      const { path, ...wanted } = source.serviceAccountToken;
      await write(path, await requestToken(controlPlane, pod, wanted));
    } else if ("configMap" in source) {
      const { name, items } = source.configMap;
      const found = await controlPlane.request(
        "GET",
        `/api/v1/namespaces/${pod.metadata.namespace}/configmaps/${name}`,
      );
      const { data } = ConfigMap.parse(JSON.parse(found.body));
      for (const { key, path } of items) await write(path, data[key] ?? "");
    } else {
      for (const { path } of source.downwardAPI.items) await write(path, pod.metadata.namespace);
    }
  }
  return directory;
}

/**
 * Returns an amount of memory of Kubernetes in bytes. @throws Error for other units than Mi and Gi
 */
function bytesOf(quantity: string): number {
  const [, amount, unit] = /^(\d+)(Mi|Gi)$/u.exec(quantity) ?? [];
  if (amount === undefined) throw new Error(`memory ${quantity}: expected Mi or Gi`);
  return Number(amount) * (unit === "Mi" ? 2 ** 20 : 2 ** 30);
}

/**
 * Runs the container of an admitted pod as a kubelet would: its arguments, user, environment,
 * limits and volume, and nothing else but the address of the API server.
 */
export async function startOperatorContainer(
  controlPlane: ControlPlane,
  pod: AdmittedPod,
): Promise<{ container: ConfinedContainer; url: string; time: StartTime }> {
  const [template] = pod.spec.containers;
  const [mount] = template.volumeMounts;
  const { hostname, port } = new URL(controlPlane.access.server);
  const http = template.ports.find(({ name }) => name === "http");
  const url = `http://127.0.0.1:${http?.containerPort}`;
  if (
    await fetch(url).then(
      () => true,
      () => false,
    )
  )
    throw new Error(`port ${http?.containerPort} of this machine is in use`);
  const source = await writeServiceAccountVolume(controlPlane, pod);
  const { runAsUser, runAsGroup } = pod.spec.securityContext;
  const started = performance.now();
  const container = await ConfinedContainer.start({
    hasNetwork: true,
    command: template.args,
    user: `${runAsUser}:${runAsGroup}`,
    environment: {
      ...Object.fromEntries(template.env.map(({ name, value }) => [name, value])),
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
    },
    mounts: [{ source, target: mount.mountPath, readOnly: true }],
    memoryBytes: bytesOf(template.resources.limits.memory),
  });
  try {
    return { container, url, time: await timeToReady(url, started) };
  } catch (error) {
    const log = await container.log();
    await container[Symbol.asyncDispose]();
    throw new Error(`the operator is not ready:\n${log.slice(-4000)}`, { cause: error });
  }
}
