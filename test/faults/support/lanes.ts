import type { TlsOptions } from "node:tls";
import { afterAll, beforeAll } from "vitest";
import {
  condition,
  isReady,
  type ObservedObject,
  reports,
  vaultConnection,
  secretThrough,
} from "../../lab/real/resources.ts";
import { ACCOUNT, World, type WorldOptions } from "../../lab/real/world.ts";
import type { VaultClient } from "../../lab/vault/vault-client.ts";
import { FaultProxy, type Fault } from "../../lab/real/fault-proxy.ts";
import { NamespaceHistory } from "./namespace-history.ts";

const KINDS = ["VaultConnection", "VaultSecret", "VaultFile", "Secret", "ConfigMap"];

export interface LanesOptions extends WorldOptions {
  /** Number of accounts in the vault, one for each lane. */
  readonly accounts?: number;
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

/**
 * A world with one operator and one vault, for many lanes that run in parallel: a fault in one lane
 * must not affect another. It has no connection but the ones of its lanes.
 */
export class Lanes extends World {
  readonly history = new NamespaceHistory(this.plane, this.namespace, KINDS);
  readonly #accounts = [...this.vault.passwords.keys()].filter((email) => email !== ACCOUNT);

  /** Creates namespace, vault and accounts, without an operator. */
  static override async create({ accounts = 40, ...options }: LanesOptions = {}): Promise<Lanes> {
    const emails = Array.from({ length: accounts }, (_, index) => `lane-${index}@example.com`);
    return new Lanes(await World.prepare(options, ...emails));
  }

  /** Creates a world before the tests of a file, starts its operator, and disposes of it afterwards. */
  static use(options: () => LanesOptions | Promise<LanesOptions> = () => ({})): {
    readonly world: Lanes;
  } {
    const holder: { world: Lanes | undefined } = { world: undefined };
    beforeAll(async () => {
      holder.world = await Lanes.create(await options());
      await holder.world.startOperator();
    });
    afterAll(() => holder.world?.[Symbol.asyncDispose]());
    return {
      get world() {
        if (holder.world === undefined)
          throw new Error("the world does not exist before the tests");
        return holder.world;
      },
    };
  }

  /** Takes an account that no other lane uses. */
  async account(): Promise<{
    readonly client: VaultClient;
    readonly email: string;
    readonly password: string;
  }> {
    const email = this.#accounts.shift();
    if (email === undefined) throw new Error("the world needs more accounts");
    const client = await this.vault.client(email);
    return { email, client, password: this.vault.passwords.get(email) ?? "" };
  }

  /** Creates a credentials Secret `<name>-login` and a VaultConnection `name`. */
  async connection(
    name: string,
    spec: { url: string; email: string; password: string; [field: string]: unknown },
  ): Promise<void> {
    const fields = { refreshInterval: "5s", timeout: "2s", ...spec };
    for (const object of vaultConnection(name, fields)) await this.create(object);
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

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.history[Symbol.asyncDispose]();
    await super[Symbol.asyncDispose]();
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
  readonly #world: Lanes;

  constructor(world: Lanes, name: string, proxy: FaultProxy, client: VaultClient) {
    this.#world = world;
    this.name = name;
    this.proxy = proxy;
    this.client = client;
  }

  /** Stores the next version of the entry, directly in the vault, and returns its value. */
  async protect(): Promise<string> {
    const value = this.#world.canaries.text(this.name);
    const version = await this.#world.protect(this.name, value, {}, this.client);
    this.values.push(value);
    if (version !== this.values.length)
      throw new Error(`expected version ${this.values.length}, got ${version}`);
    return value;
  }

  async createSecret(): Promise<void> {
    const { name } = this;
    await this.#world.create(secretThrough(name, name, { value: name }));
  }

  /** The different values of the Secret over time. */
  get written(): string[] {
    return this.#world.history.values(this.name, "value");
  }

  until(
    kind: string,
    test: (object: ObservedObject) => boolean,
    withinMs?: number,
  ): Promise<ObservedObject> {
    return this.#world.history.until(kind, this.name, test, withinMs).catch((error: unknown) => {
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
    await this.#world.delete("VaultSecret", this.name);
    await this.#world.delete("VaultConnection", this.name);
    await this.proxy[Symbol.asyncDispose]();
  }

  #report(): string {
    const requests = this.proxy.requests
      .slice(-8)
      .map(({ path, at }) => `${Math.round(at)} ${path}`);
    const log = this.#world.operator.log.split("\n").filter((line) => line.includes(this.name));
    const status = JSON.stringify(this.#world.history.latest("VaultConnection", this.name)?.status);
    return [
      `connection: ${status}`,
      "last requests:",
      ...requests,
      "operator:",
      ...log.slice(-8),
    ].join("\n");
  }
}

const GROUP = "rbac.authorization.k8s.io";

/**
 * Creates a ServiceAccount in the namespace of the world, with the permissions of the operator there
 * and for its Leases.
 */
export async function createReplicaAccount(world: Lanes, name: string): Promise<void> {
  const { plane, namespace } = world;
  const post = async (path: string, object: object): Promise<void> => {
    const { status, body } = await plane.request("POST", path, object);
    if (status !== 201 && status !== 409) throw new Error(`POST ${path}: ${status} ${body}`);
  };
  const rbac = `/apis/${GROUP}/v1/namespaces/${namespace}`;
  const subjects = [{ kind: "ServiceAccount", name, namespace }];
  await post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  const verbs = ["create", "get", "list", "update", "delete"];
  const rules = [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs }];
  await post(`${rbac}/roles`, { metadata: { name: "leases" }, rules });
  for (const [kind, role] of [
    ["ClusterRole", "vaultsync"],
    ["Role", "leases"],
  ]) {
    const roleRef = { apiGroup: GROUP, kind, name: role };
    await post(`${rbac}/rolebindings`, {
      metadata: { name: `${name}-${role}` },
      subjects,
      roleRef,
    });
  }
}
