import { afterAll } from "vitest";
import { z } from "zod";
import { Canaries } from "../assertions/canary.ts";
import { sharedControlPlane } from "../kube/control-plane.ts";
import { waitUntil } from "../clock/wait-until.ts";
import { TestVault } from "../vault/test-vault.ts";
import type { VaultClient } from "../vault/vault-client.ts";
import { type ControlPlane, manifestOf } from "../control-plane/control-plane.ts";
import { type OperatorOptions, OperatorProcess } from "./processes/operator-process.ts";
import { runAsAdmin } from "./processes/run-in-process.ts";
import type { ProcessResult } from "./processes/vaultsync-process.ts";
import {
  bytesOf,
  collection,
  condition,
  observedObject,
  type ObservedObject,
  ownKinds,
  vaultConnection,
} from "./resources.ts";

export const ACCOUNT = "ops@example.com";
/** The ServiceAccount of deploy/base. */
export const SERVICE_ACCOUNT = { serviceAccount: "vaultsync", namespace: "vaultsync-system" };
export const OPERATOR_USER = `system:serviceaccount:${SERVICE_ACCOUNT.namespace}:${SERVICE_ACCOUNT.serviceAccount}`;

export interface WorldOptions {
  /** Fields of the connection: another account of the vault, for example. */
  readonly connection?: { readonly email?: string; readonly [field: string]: unknown };
  /** Name of the new namespace; a random name by default. */
  readonly namespace?: string;
  /** URL of the API server for the operator, for example of a proxy. */
  readonly server?: string;
  /** PEM of the authority of `server`, if it differs from the authority of the API server. */
  readonly ca?: string;
  /**
   * The operator's ServiceAccount: by default the account of deploy/base. Without a namespace it is
   * created in the namespace of the world.
   */
  readonly account?: { readonly serviceAccount: string; readonly namespace?: string };
  readonly vault?: TestVault;
  /** The control plane; the shared one by default. */
  readonly plane?: ControlPlane;
  /** Last arguments of each operator, and options of its process. */
  readonly args?: readonly string[];
  readonly process?: OperatorOptions;
}

interface Parts extends Required<Pick<WorldOptions, "plane" | "vault" | "args" | "process">> {
  readonly caller: VaultClient;
  readonly namespace: string;
  readonly kubeconfig: string;
}

/** A namespace with a VaultConnection to a separate vault. The test starts the operator. */
export class World implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly vault: TestVault;
  readonly caller: VaultClient;
  readonly namespace: string;
  readonly kubeconfig: string;
  readonly canaries = new Canaries();
  /** Every operator that was started. The world stops them at its end. */
  readonly operators: OperatorProcess[] = [];
  readonly #args: readonly string[];
  readonly #process: OperatorOptions;

  protected constructor({ plane, vault, caller, namespace, kubeconfig, args, process }: Parts) {
    this.plane = plane;
    this.vault = vault;
    this.caller = caller;
    this.namespace = namespace;
    this.kubeconfig = kubeconfig;
    this.#args = args;
    this.#process = process;
  }

  /** Creates the namespace and the vault of a world, with further accounts. */
  protected static async prepare(
    { account = SERVICE_ACCOUNT, vault: given, plane: own, ...options }: WorldOptions,
    ...accounts: readonly string[]
  ): Promise<Parts> {
    const { args = [], process = {}, server, ca } = options;
    const plane = own ?? (await sharedControlPlane());
    const vault = given ?? (await TestVault.start({ emails: [ACCOUNT, ...accounts] }));
    const namespace = await plane.createNamespace("e2e", options.namespace);
    const identity = { namespace, ...account };
    if (account.namespace === undefined) {
      await plane.request("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, {
        metadata: { name: account.serviceAccount },
      });
    }
    const kubeconfig = await plane.kubeconfigFor(identity, {
      ...(server && { server }),
      ...(ca && { ca }),
    });
    const caller = await vault.client(options.connection?.email ?? ACCOUNT);
    return { plane, vault, caller, namespace, kubeconfig, args, process };
  }

  static async create(options: WorldOptions = {}): Promise<World> {
    const world = new World(await World.prepare(options));
    await world.createConnection(options.connection);
    return world;
  }

  /**
   * Creates the world of a test file, without an operator, and disposes of it after the file's
   * tests.
   */
  static async ofFile(options: WorldOptions = {}): Promise<World> {
    const world = await World.create(options);
    afterAll(() => world[Symbol.asyncDispose]());
    return world;
  }

  /** Creates the credentials Secret and the VaultConnection `vault`. */
  async createConnection({
    email = ACCOUNT,
    ...fields
  }: WorldOptions["connection"] = {}): Promise<void> {
    const password = this.vault.passwords.get(email) ?? "";
    const spec = { url: this.vault.url, email, password, refreshInterval: "5s", ...fields };
    await this.apply(...vaultConnection("vault", spec));
  }

  /** Another VaultConnection of {@link ACCOUNT} to the vault, with the same credentials Secret. */
  anotherConnection(name: string, spec: object = {}) {
    const auth = { passwordSecretRef: { name: "vault-login" } };
    return {
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultConnection",
      metadata: { name },
      spec: { url: this.vault.url, email: ACCOUNT, auth, refreshInterval: "5s", ...spec },
    };
  }

  /** Starts an operator for this namespace only: test files can run in parallel. */
  startOperator(args: readonly string[] = ["--no-leader-elect"]): Promise<OperatorProcess> {
    return this.startClusterOperator(["--namespaces", this.namespace, ...args]);
  }

  /**
   * Starts an operator for the whole cluster with leader election, as deploy/base does. No other
   * operator may run at the same time.
   */
  async startClusterOperator(args: readonly string[] = []): Promise<OperatorProcess> {
    const all = [...args, ...this.#args];
    const operator = await OperatorProcess.start(this.kubeconfig, all, this.#process);
    this.operators.push(operator);
    return operator;
  }

  /** Returns the operator that was started last. */
  get operator(): OperatorProcess {
    const last = this.operators.at(-1);
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
    await this.plane.apply(objects, this.namespace);
  }

  /** Runs a command of the operator as the administrator, in this namespace. */
  run(command: string, ...args: readonly string[]): Promise<ProcessResult> {
    return runAsAdmin(this.plane, [command, "-n", this.namespace, ...args]);
  }

  /** Creates an object in this namespace. */
  async create(object: {
    readonly kind: string;
    readonly [field: string]: unknown;
  }): Promise<void> {
    const path = collection(object.kind, this.namespace);
    const { status, body } = await this.plane.request("POST", path, object);
    if (status !== 201) throw new Error(`create ${object.kind}: ${status} ${body}`);
  }

  /** Changes an object by a JSON merge patch. */
  async patch(kind: string, name: string, patch: object): Promise<void> {
    const input = JSON.stringify(patch);
    const args = ["patch", kind.toLowerCase(), name, "--type=merge", "--patch", input];
    await this.plane.kubectlOutput(args, { namespace: this.namespace });
  }

  async delete(kind: string, name: string): Promise<void> {
    await this.plane.request("DELETE", `${collection(kind, this.namespace)}/${name}`);
  }

  tryApply(...objects: object[]): Promise<{ code: number; stderr: string }> {
    const input = manifestOf(objects);
    return this.plane.kubectl(["apply", "-f", "-"], { namespace: this.namespace, input });
  }

  /** Protects a value and returns its version. */
  async protect(
    name: string,
    value: string,
    more: object = {},
    caller = this.caller,
  ): Promise<number> {
    const response = await caller.call("protect", {
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
      const log = this.operators.at(-1)?.log.split("\n").slice(-15).join("\n");
      throw new Error(
        `${String(error)}\nstatus: ${JSON.stringify(last?.status)}\noperator:\n${log}`,
        { cause: error },
      );
    }
  }

  /** Waits until the condition Ready has this reason. */
  untilReason(
    kind: string,
    name: string,
    reason: string,
    withinMs?: number,
  ): Promise<ObservedObject> {
    return this.until(
      kind,
      name,
      (object) => condition(object, "Ready")?.reason === reason,
      withinMs,
    );
  }

  /** Waits until a Secret has this value. */
  has(name: string, key: string, value: string, withinMs?: number): Promise<ObservedObject> {
    return this.until(
      "Secret",
      name,
      (secret) => bytesOf(secret, key)?.toString() === value,
      withinMs,
    );
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
    this.operators.forEach((operator, index) => (places[`log ${index}`] = operator.log));
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
    for (const operator of this.operators) {
      places["metrics"] = await operator.page("/metrics").then(
        ({ body }) => body,
        () => "",
      );
    }
    return places;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const operator of this.operators) {
      // A stopped process would not receive the signal that ends it.
      operator.signal("SIGCONT");
      await operator.stop();
    }
    await this.vault[Symbol.asyncDispose]();
    await this.plane.request("DELETE", `/api/v1/namespaces/${this.namespace}`);
  }
}
