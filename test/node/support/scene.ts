import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { account, logInAsShop, protectValue } from "../../../scripts/demo/vault-account.ts";
import { Redacted } from "../../../src/lib/redacted.ts";
import type { VaultClient } from "../../../src/protocol/client/vault-client.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { NodeCluster } from "../../lab/node/node-cluster.ts";
import { bytesOf, collection, observedObject, vaultConnection } from "../../lab/real/resources.ts";
import { system } from "./operator-pods.ts";
import { Reader, type ReaderSpec, readerPod } from "./reader.ts";

/** Returns a value that occurs nowhere else. */
const canary = (): string => `canary-${randomBytes(12).toString("hex")}`;

/** A namespace of the cluster with a connection to its vault, and the account in that vault. */
export class NodeNamespace {
  readonly cluster: NodeCluster;
  readonly name: string;
  readonly vault: VaultClient;

  private constructor(cluster: NodeCluster, name: string, vault: VaultClient) {
    this.cluster = cluster;
    this.name = name;
    this.vault = vault;
  }

  /** Creates a namespace with a connection to a vault: by default to the one of all tests. */
  static async create(prefix: string, installed = inject("vault")): Promise<NodeNamespace> {
    const namespace = await NodeNamespace.empty(prefix, installed);
    const { url, ca, password } = installed;
    const bundle = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "vault-ca" } };
    const caBundleRef = { kind: "ConfigMap", name: "vault-ca" };
    const spec = { password, url, email: account, caBundleRef, refreshInterval: "5s" };
    await namespace.apply({ ...bundle, data: { "ca.crt": ca } }, ...vaultConnection("vault", spec));
    return namespace;
  }

  /** Creates a namespace without a connection. */
  static async empty(prefix: string, installed = inject("vault")): Promise<NodeNamespace> {
    const cluster = await NodeCluster.open(inject("controlPlane"));
    const { outsideUrl, ca, password } = installed;
    // kube-proxy writes its rules after the Service was created.
    const vault = await waitUntil("the vault is reachable from this machine", () =>
      logInAsShop(outsideUrl, new Redacted(password), ca),
    );
    return new NodeNamespace(cluster, await cluster.createNamespace(prefix), vault);
  }

  async apply(...objects: readonly object[]): Promise<void> {
    await this.cluster.apply(objects, this.name);
  }

  /** Stores a new version in the vault, and returns its value. */
  async protect(key: string, value = canary(), deleteTimeMinutes?: number): Promise<string> {
    await protectValue(this.vault, key, new Redacted(value), deleteTimeMinutes);
    return value;
  }

  /** Waits until a key of a Secret has this value. */
  async secretHas(name: string, key: string, value: string): Promise<void> {
    const path = `${collection("Secret", this.name)}/${name}`;
    await waitUntil(`Secret ${name} has the new value`, async () => {
      const { status, body } = await this.cluster.request("GET", path);
      if (status !== 200) return false;
      return bytesOf(observedObject.parse(JSON.parse(body)), key)?.toString() === value;
    });
  }

  /** Applies a workload with one pod that reports what it reads, labeled `app: NAME`. */
  async run(kind: "Deployment" | "StatefulSet", name: string, spec: ReaderSpec): Promise<void> {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: readerPod(spec) };
    await this.apply({
      apiVersion: "apps/v1",
      kind,
      metadata: { name },
      spec: {
        selector: { matchLabels: labels },
        template,
        ...(kind === "StatefulSet" && { serviceName: name }),
      },
    });
  }

  /** Waits for the only pod of a workload. `differs` is the id of a process that it replaces. */
  reader(name: string, differs?: string): Promise<Reader> {
    return Reader.ready(this.cluster, this.name, `app=${name}`, differs);
  }

  /** Returns the output of kubectl in the namespace of the operator. */
  inSystem(...args: readonly string[]): Promise<string> {
    return this.cluster.kubectlOutput(args, { namespace: system });
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.cluster.kubectlOutput(args, { namespace: this.name });
  }
}
