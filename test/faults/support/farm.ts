import type { TlsOptions } from "node:tls";
import { afterAll, beforeAll } from "vitest";
import { z } from "zod";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import {
  collection,
  condition,
  SERVICE_ACCOUNT,
  type ObservedObject,
} from "../../lab/real/world.ts";
import { Canaries } from "../../lab/assertions/canary.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import {
  OperatorProcess,
  type OperatorOptions,
} from "../../lab/real/processes/operator-process.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";
import type { VaultClient } from "../../lab/vault/vault-client.ts";
import { FaultProxy, type Fault } from "../../lab/real/fault-proxy.ts";
import { NamespaceHistory } from "./namespace-history.ts";

const KINDS = ["VaultConnection", "VaultSecret", "VaultFile", "Secret", "ConfigMap"];
const protectResponse = z.object({ secret: z.object({ key_version: z.number() }) });

export interface FarmOptions {
  /** Number of accounts in the vault, one for each lane. */
  readonly accounts?: number;
  readonly args?: readonly string[];
  readonly process?: OperatorOptions;
  /** URL and authority of the API server for the operator, for example of a proxy. */
  readonly api?: { readonly server: string; readonly ca?: string };
  /**
   * ServiceAccount of the farm's namespace for the operator. Default: the account of deploy/base.
   */
  readonly account?: string;
  /** Default: the control plane that all test files share. */
  readonly plane?: ControlPlane;
}

export interface LaneOptions {
  /** Host in the URL of the connection instead of the proxy's address. */
  readonly host?: string;
  /** Certificate of the proxy. With it, the proxy serves https. */
  readonly tls?: TlsOptions;
  /** Fields of the VaultConnection. */
  readonly spec?: object;
  /** Fault of the proxy from the first request on. */
  readonly fault?: Fault;
}

export const isReady = (object: ObservedObject): boolean =>
  condition(object, "Ready")?.status === "True";

/**
 * Reports whether a resource has this reason, with a message that matches, in Ready or while it
 * retries.
 */
export function reports({ status }: ObservedObject, reason: string, message = /./): boolean {
  const failures = status?.conditions.filter(
    (one) => one.type === "Reconciling" || (one.type === "Ready" && one.status === "False"),
  );
  return failures?.some((one) => one.reason === reason && message.test(one.message)) ?? false;
}

/**
 * One namespace with one operator and one vault, for many lanes that run in parallel: a fault in
 * one lane must not affect another.
 */
export class Farm implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly vault: TestVault;
  readonly namespace: string;
  readonly kubeconfig: string;
  readonly history: NamespaceHistory;
  readonly canaries = new Canaries();
  readonly operators: OperatorProcess[] = [];
  readonly #options: FarmOptions;
  readonly #accounts: string[];

  private constructor(
    plane: ControlPlane,
    vault: TestVault,
    namespace: string,
    kubeconfig: string,
    options: FarmOptions,
  ) {
    this.plane = plane;
    this.vault = vault;
    this.namespace = namespace;
    this.kubeconfig = kubeconfig;
    this.history = new NamespaceHistory(plane, namespace, KINDS);
    this.#options = options;
    this.#accounts = [...vault.passwords.keys()];
  }

  /** Creates namespace, vault and accounts, without an operator. */
  static async create(options: FarmOptions = {}): Promise<Farm> {
    const plane = options.plane ?? (await sharedControlPlane());
    const emails = Array.from(
      { length: options.accounts ?? 40 },
      (_, index) => `lane-${index}@example.com`,
    );
    const vault = await TestVault.start({ emails });
    const namespace = await plane.createNamespace("faults");
    const { account, api = {} } = options;
    if (account !== undefined) {
      await plane.request("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, {
        metadata: { name: account },
      });
    }
    const identity =
      account === undefined ? SERVICE_ACCOUNT : { serviceAccount: account, namespace };
    const kubeconfig = await plane.kubeconfigFor(identity, api);
    return new Farm(plane, vault, namespace, kubeconfig, options);
  }

  /**
   * Creates a farm before the tests of a file, starts its operator, and disposes of it afterwards.
   */
  static use(options: () => FarmOptions | Promise<FarmOptions> = () => ({})): {
    readonly farm: Farm;
  } {
    const holder: { farm: Farm | undefined } = { farm: undefined };
    beforeAll(async () => {
      holder.farm = await Farm.create(await options());
      await holder.farm.startOperator();
    });
    afterAll(() => holder.farm?.[Symbol.asyncDispose]());
    return {
      get farm() {
        if (holder.farm === undefined) throw new Error("the farm does not exist before the tests");
        return holder.farm;
      },
    };
  }

  get operator(): OperatorProcess {
    const last = this.operators.at(-1);
    if (last === undefined) throw new Error("no operator was started");
    return last;
  }

  /** Starts an operator for this namespace only: test files can run in parallel. */
  async startOperator(args: readonly string[] = ["--no-leader-elect"]): Promise<OperatorProcess> {
    const all = ["--namespaces", this.namespace, ...args, ...(this.#options.args ?? [])];
    const operator = await OperatorProcess.start(this.kubeconfig, all, this.#options.process);
    this.operators.push(operator);
    return operator;
  }

  /** Creates an object in the namespace. */
  async create(object: {
    readonly kind: string;
    readonly [field: string]: unknown;
  }): Promise<void> {
    const { status, body } = await this.plane.request(
      "POST",
      collection(object.kind, this.namespace),
      object,
    );
    if (status !== 201) throw new Error(`create ${object.kind}: ${status} ${body}`);
  }

  /** Changes an object by a JSON merge patch. */
  async patch(kind: string, name: string, patch: object): Promise<void> {
    const input = JSON.stringify(patch);
    const args = ["patch", kind.toLowerCase(), name, "--type=merge", "--patch", input];
    const { code, stderr } = await this.plane.kubectl(args, { namespace: this.namespace });
    if (code !== 0) throw new Error(`kubectl patch ${kind} ${name}: ${stderr}`);
  }

  async delete(kind: string, name: string): Promise<void> {
    await this.plane.request("DELETE", `${collection(kind, this.namespace)}/${name}`);
  }

  /** Takes an account that no other lane uses. */
  async account(): Promise<{
    readonly client: VaultClient;
    readonly email: string;
    readonly password: string;
  }> {
    const email = this.#accounts.shift();
    if (email === undefined) throw new Error("the farm needs more accounts");
    return {
      email,
      client: await this.vault.client(email),
      password: this.vault.passwords.get(email) ?? "",
    };
  }

  /** Creates a credentials Secret `<name>-login` and a VaultConnection `name`. */
  async connection(
    name: string,
    spec: { url: string; email: string; password: string; [field: string]: unknown },
  ): Promise<void> {
    const { url, email, password, ...more } = spec;
    await this.create({
      kind: "Secret",
      apiVersion: "v1",
      metadata: { name: `${name}-login` },
      type: "vaultsync.dev/credentials",
      stringData: { password },
    });
    await this.create({
      kind: "VaultConnection",
      apiVersion: "vaultsync.dev/v1alpha1",
      metadata: { name },
      spec: {
        url,
        email,
        auth: { passwordSecretRef: { name: `${name}-login` } },
        refreshInterval: "5s",
        timeout: "2s",
        ...more,
      },
    });
  }

  /** Creates a lane that is in sync: its Secret has the first value. */
  async lane(name: string, { host, tls, spec = {}, fault }: LaneOptions = {}): Promise<Lane> {
    const { client, email, password } = await this.account();
    const proxy = await FaultProxy.start({ url: this.vault.url }, { tls });
    if (fault !== undefined) proxy.inject(fault);
    const lane = new Lane(this, name, proxy, client);
    await lane.protect();
    const url = host === undefined ? proxy.url : proxy.url.replace("127.0.0.1", host);
    await this.connection(name, { url, email, password, ...spec });
    await lane.createSecret();
    await lane.inSync();
    return lane;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const operator of this.operators) {
      // A stopped process would not receive the signal that ends it.
      operator.signal("SIGCONT");
      await operator.stop();
    }
    await this.history[Symbol.asyncDispose]();
    await this.vault[Symbol.asyncDispose]();
    await this.plane.request("DELETE", `/api/v1/namespaces/${this.namespace}`);
  }
}

/**
 * A VaultConnection through a separate proxy to the vault, with a VaultSecret of the same name. Its
 * Secret has the key `value` with the latest version of the entry.
 */
export class Lane implements AsyncDisposable {
  readonly name: string;
  readonly proxy: FaultProxy;
  readonly client: VaultClient;
  /** Every value that the vault has stored for the entry, by version, from version 1. */
  readonly values: string[] = [];
  readonly #farm: Farm;

  constructor(farm: Farm, name: string, proxy: FaultProxy, client: VaultClient) {
    this.#farm = farm;
    this.name = name;
    this.proxy = proxy;
    this.client = client;
  }

  /** Stores the next version of the entry, directly in the vault, and returns its value. */
  async protect(): Promise<string> {
    const value = this.#farm.canaries.text(this.name);
    const response = await this.client.call("protect", { key_name: this.name, key_value: value });
    if (response.status !== 200) throw new Error(`protect ${this.name}: ${response.outcome()}`);
    this.values.push(value);
    const { key_version } = protectResponse.parse(response.json()).secret;
    if (key_version !== this.values.length)
      throw new Error(`expected version ${this.values.length}, got ${key_version}`);
    return value;
  }

  async createSecret(): Promise<void> {
    await this.#farm.create({
      kind: "VaultSecret",
      apiVersion: "vaultsync.dev/v1alpha1",
      metadata: { name: this.name },
      spec: {
        connectionRef: { name: this.name },
        data: [{ secretKey: "value", remoteRef: { key: this.name } }],
      },
    });
  }

  /** The different values of the Secret over time. */
  get written(): string[] {
    return this.#farm.history.values(this.name, "value");
  }

  until(
    kind: string,
    test: (object: ObservedObject) => boolean,
    withinMs?: number,
  ): Promise<ObservedObject> {
    return this.#farm.history.until(kind, this.name, test, withinMs).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.#report()}`, { cause: error });
    });
  }

  /**
   * Waits until the connection is not Ready, with this reason and a message that matches, and
   * returns the condition.
   */
  async connectionReports(
    reason: string | undefined,
    message = /./,
  ): Promise<NonNullable<ReturnType<typeof condition>>> {
    const failed = (one: ObservedObject) => {
      const ready = condition(one, "Ready");
      const matches =
        ready?.status === "False" &&
        (reason ?? ready.reason) === ready.reason &&
        message.test(ready.message);
      return matches ? ready : undefined;
    };
    return failed(await this.until("VaultConnection", (one) => failed(one) !== undefined))!;
  }

  /**
   * Waits until the VaultSecret reports this reason with a message that matches, in Ready or while
   * it retries.
   */
  async secretReports(reason: string, message = /./): Promise<void> {
    await this.until("VaultSecret", (one) => reports(one, reason, message));
  }

  /** Waits until connection and VaultSecret are Ready and the Secret has the latest value. */
  async inSync(withinMs?: number): Promise<void> {
    const expected = Buffer.from(this.values.at(-1) ?? "").toString("base64");
    await this.until("Secret", ({ data }) => data["value"] === expected, withinMs);
    await this.until("VaultSecret", isReady, withinMs);
    await this.until("VaultConnection", isReady, withinMs);
  }

  /** Deletes the resources: they cause no more requests. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#farm.delete("VaultSecret", this.name);
    await this.#farm.delete("VaultConnection", this.name);
    await this.proxy[Symbol.asyncDispose]();
  }

  #report(): string {
    const requests = this.proxy.requests
      .slice(-8)
      .map(({ path, at }) => `${Math.round(at)} ${path}`);
    const log = this.#farm.operator.log.split("\n").filter((line) => line.includes(this.name));
    const status = JSON.stringify(this.#farm.history.latest("VaultConnection", this.name)?.status);
    return [
      `connection: ${status}`,
      "last requests:",
      ...requests,
      "operator:",
      ...log.slice(-8),
    ].join("\n");
  }
}
