import { z } from "zod";
import { Canaries } from "../assertions/canary.ts";
import { sharedControlPlane } from "../kube/control-plane.ts";
import { waitUntil } from "../clock/wait-until.ts";
import { TestVault } from "../vault/test-vault.ts";
import type { VaultClient } from "../vault/vault-client.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { OperatorProcess } from "./processes/operator-process.ts";

export const ACCOUNT = "ops@example.com";
/** The ServiceAccount of deploy/base. */
export const SERVICE_ACCOUNT = { serviceAccount: "vaultsync", namespace: "vaultsync-system" };
export const OPERATOR_USER = `system:serviceaccount:${SERVICE_ACCOUNT.namespace}:${SERVICE_ACCOUNT.serviceAccount}`;

export const observedObject = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  data: z.record(z.string(), z.string()).default({}),
  binaryData: z.record(z.string(), z.string()).default({}),
  status: z
    .looseObject({
      conditions: z
        .array(
          z.object({
            type: z.string(),
            status: z.string(),
            reason: z.string(),
            message: z.string(),
          }),
        )
        .default([]),
    })
    .optional(),
});
export type ObservedObject = z.output<typeof observedObject>;

export function condition(object: ObservedObject, type: string) {
  return object.status?.conditions.find((one) => one.type === type);
}

export function bytesOf(object: ObservedObject, key: string): Buffer | undefined {
  const encoded = object.data[key];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64");
}

const ownKinds = ["VaultConnection", "VaultSecret", "VaultFile", "VaultPush"];

/** Returns the path of the objects of a kind in a namespace. */
export function collection(kind: string, namespace: string): string {
  const plural = kind === "VaultPush" ? "vaultpushes" : `${kind.toLowerCase()}s`;
  return ownKinds.includes(kind)
    ? `/apis/vaultsync.dev/v1alpha1/namespaces/${namespace}/${plural}`
    : `/api/v1/namespaces/${namespace}/${plural}`;
}

export interface WorldOptions {
  readonly refreshInterval?: string;
  /** URL of the API server for the operator, for example of a proxy. */
  readonly server?: string;
  /** PEM of the authority of `server`, if it differs from the authority of the API server. */
  readonly ca?: string;
  /** The operator's ServiceAccount. Default: the account of deploy/base. */
  readonly account?: { readonly serviceAccount: string; readonly namespace: string };
  readonly vault?: TestVault;
  /** The control plane; the shared one by default. */
  readonly plane?: ControlPlane;
}

/** A namespace with a VaultConnection to a separate vault. The test starts the operator. */
export class World implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly vault: TestVault;
  readonly caller: VaultClient;
  readonly namespace: string;
  readonly kubeconfig: string;
  readonly canaries = new Canaries();
  readonly #operators: OperatorProcess[] = [];

  private constructor(
    plane: ControlPlane,
    vault: TestVault,
    caller: VaultClient,
    namespace: string,
    kubeconfig: string,
  ) {
    this.plane = plane;
    this.vault = vault;
    this.caller = caller;
    this.namespace = namespace;
    this.kubeconfig = kubeconfig;
  }

  static async create({
    refreshInterval = "5s",
    account = SERVICE_ACCOUNT,
    vault: given,
    plane: own,
    ...access
  }: WorldOptions = {}): Promise<World> {
    const plane = own ?? (await sharedControlPlane());
    const vault = given ?? (await TestVault.start({ emails: [ACCOUNT] }));
    const namespace = await plane.createNamespace("e2e");
    const kubeconfig = await plane.kubeconfigFor(account, access);
    const world = new World(plane, vault, await vault.client(ACCOUNT), namespace, kubeconfig);
    await world.createConnection(refreshInterval);
    return world;
  }

  /** Creates the credentials Secret and the VaultConnection `vault`. */
  async createConnection(refreshInterval: string): Promise<void> {
    await this.apply(
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "vault-login" },
        type: "vaultsync.dev/credentials",
        stringData: { password: this.vault.passwords.get(ACCOUNT) ?? "" },
      },
      {
        apiVersion: "vaultsync.dev/v1alpha1",
        kind: "VaultConnection",
        metadata: { name: "vault" },
        spec: {
          url: this.vault.url,
          email: ACCOUNT,
          auth: { passwordSecretRef: { name: "vault-login" } },
          refreshInterval,
        },
      },
    );
  }

  /** Starts an operator for this namespace only: test files can run in parallel. */
  startOperator(): Promise<OperatorProcess> {
    return this.startClusterOperator(["--namespaces", this.namespace, "--no-leader-elect"]);
  }

  /**
   * Starts an operator for the whole cluster with leader election, as deploy/base does. No other
   * operator may run at the same time.
   */
  async startClusterOperator(args: readonly string[] = []): Promise<OperatorProcess> {
    const operator = await OperatorProcess.start(this.kubeconfig, args);
    this.#operators.push(operator);
    return operator;
  }

  /** Returns the operator that was started last. */
  get operator(): OperatorProcess {
    const last = this.#operators.at(-1);
    if (last === undefined) throw new Error("no operator was started");
    return last;
  }

  /** Stops the running operator gracefully and starts another. */
  async restartOperator(): Promise<OperatorProcess> {
    await this.operator.stop();
    return this.startOperator();
  }

  /** Applies objects in this namespace with kubectl. */
  async apply(...objects: object[]): Promise<void> {
    const { code, stderr } = await this.tryApply(...objects);
    if (code !== 0) throw new Error(`kubectl apply: ${stderr}`);
  }

  tryApply(...objects: object[]): Promise<{ code: number; stderr: string }> {
    const input = objects.map((object) => JSON.stringify(object)).join("\n---\n");
    return this.plane.kubectl(["apply", "-f", "-"], { namespace: this.namespace, input });
  }

  /** Protects a value and returns its version. */
  async protect(name: string, value: string, more: object = {}): Promise<number> {
    const response = await this.caller.call("protect", {
      key_name: name,
      key_value: value,
      ...more,
    });
    if (response.status !== 200)
      throw new Error(`protect ${name}: ${response.status} ${response.code()}`);
    return z.object({ secret: z.object({ key_version: z.number() }) }).parse(response.json()).secret
      .key_version;
  }

  async upload(filename: string, bytes: Uint8Array): Promise<void> {
    const response = await this.caller.upload([{ filename, bytes }]);
    if (response.status !== 200)
      throw new Error(`upload ${filename}: ${response.status} ${response.code()}`);
  }

  /** Returns `undefined` if there is no such object. */
  async get(kind: string, name: string): Promise<ObservedObject | undefined> {
    const { status, body } = await this.plane.request(
      "GET",
      `${collection(kind, this.namespace)}/${name}`,
    );
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`GET ${kind} ${name}: ${status}`);
    return observedObject.parse(JSON.parse(body));
  }

  async list(kind: string): Promise<ObservedObject[]> {
    const { body } = await this.plane.request("GET", collection(kind, this.namespace));
    return z.object({ items: z.array(observedObject) }).parse(JSON.parse(body)).items;
  }

  /** Waits until the object exists and `test` returns true for it. */
  async until(
    kind: string,
    name: string,
    test: (object: ObservedObject) => boolean,
    withinMs?: number,
  ): Promise<ObservedObject> {
    let last: ObservedObject | undefined;
    try {
      return await waitUntil(
        `${kind} ${name}`,
        async () => {
          last = await this.get(kind, name);
          return last !== undefined && test(last) ? last : undefined;
        },
        withinMs,
      );
    } catch (error) {
      const log = this.#operators.at(-1)?.log.split("\n").slice(-15).join("\n");
      throw new Error(
        `${String(error)}\nstatus: ${JSON.stringify(last?.status)}\noperator:\n${log}`,
        { cause: error },
      );
    }
  }

  ready(kind: string, name: string): Promise<ObservedObject> {
    return this.until(kind, name, (object) => condition(object, "Ready")?.status === "True");
  }

  async gone(kind: string, name: string, withinMs?: number): Promise<void> {
    await waitUntil(
      `${kind} ${name} is gone`,
      async () => (await this.get(kind, name)) === undefined,
      withinMs,
    );
  }

  /**
   * Returns everything the operator has written, by place, except the content of Secrets and
   * ConfigMaps.
   */
  async operatorOutput(): Promise<Record<string, string>> {
    const places: Record<string, string> = {};
    this.#operators.forEach((operator, index) => (places[`log ${index}`] = operator.log));
    for (const kind of ownKinds) {
      places[`${kind} statuses`] = JSON.stringify(
        (await this.list(kind)).map(({ status }) => status),
      );
    }
    const objects = [...(await this.list("Secret")), ...(await this.list("ConfigMap"))];
    const targets = objects.filter(({ metadata }) => "vaultsync.dev/owner" in metadata.annotations);
    places["target metadata"] = JSON.stringify(
      targets.map(({ metadata }) => [metadata.annotations, metadata["labels"]]),
    );
    const events = await this.plane.request(
      "GET",
      `/apis/events.k8s.io/v1/namespaces/${this.namespace}/events`,
    );
    places["events"] = events.body;
    for (const operator of this.#operators) {
      places["metrics"] = await operator.page("/metrics").then(
        ({ body }) => body,
        () => "",
      );
    }
    return places;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const operator of this.#operators) await operator.stop();
    await this.vault[Symbol.asyncDispose]();
    await this.plane.request("DELETE", `/api/v1/namespaces/${this.namespace}`);
  }
}

/** A VaultSecret named `name` that reads the secrets of `keys`, each under a separate key. */
export function vaultSecret(
  name: string,
  keys: Readonly<Record<string, string | object>>,
  target?: object,
): object {
  return {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata: { name },
    spec: {
      connectionRef: { name: "vault" },
      data: Object.entries(keys).map(([secretKey, ref]) => ({
        secretKey,
        remoteRef: typeof ref === "string" ? { key: ref } : ref,
      })),
      ...(target && { target }),
    },
  };
}

/** A VaultPush named `name` of the Secret of that name, whose keys are pushed as `data` says. */
export function vaultPush(name: string, data: readonly object[], more: object = {}): object {
  return {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultPush",
    metadata: { name },
    spec: {
      connectionRef: { name: "vault" },
      secret: { name },
      refreshInterval: "5s",
      data,
      ...more,
    },
  };
}

export function vaultFile(name: string, files: readonly object[], target: object): object {
  return {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultFile",
    metadata: { name },
    spec: { connectionRef: { name: "vault" }, files, target },
  };
}
