import {
  API_GROUP,
  API_VERSION,
  clusterVaultConnectionKind,
  type Kind,
  vaultConnectionKind,
  vaultFileKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import { CREDENTIALS_TYPE } from "../../../src/operator/api/names.ts";
import type { Condition } from "../../../src/operator/api/status.ts";
import type { ConnectionStatus } from "../../../src/operator/api/vault-connection.ts";
import { operatorConfig, type OperatorFlags } from "../../../src/operator/config.ts";
import { runEngine } from "../../../src/operator/engine.ts";
import { NAMESPACES, SECRETS } from "../../../src/operator/kube/resource.ts";
import type { VaultRequest } from "../../../src/operator/vault-client/http/vault-transport.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { MetricsRegistry } from "../../../src/telemetry/metrics-registry.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { ApiClient, type Network } from "../kube/in-memory/api-client.ts";
import { InMemoryApiServer } from "../kube/in-memory/in-memory-api-server.ts";
import { InMemoryTransport, type VaultNetwork } from "../vault/in-memory/in-memory-transport.ts";
import { InMemoryVault } from "../vault/in-memory/in-memory-vault.ts";

const apiVersion = `${API_GROUP}/${API_VERSION}`;
export const OPERATOR_NAMESPACE = "vaultsync-system";
/** Name of the credentials Secret in every namespace, each with a password of its own. */
const LOGIN = "login";
/** Time of a request to the API server, and of an event to arrive, in milliseconds. */
const API_LATENCY_MS = 5;

/** A request that the vault received. */
export interface VaultCall {
  /** Monotonic time of its arrival. */
  readonly at: number;
  readonly operation: string;
  /** The account that it was sent for. */
  readonly account: string;
  /** Name of the secret or file, if it is about one. */
  readonly name: string | undefined;
  /** Password of a login. */
  readonly password: string | undefined;
}

/** One connection of a scene: cluster-scoped without a namespace. */
export interface SceneConnection {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Returns the account of a connection, and of no other one. */
export const accountOf = ({ namespace = "", name }: SceneConnection): string =>
  `${name}.in.${namespace}@example.com`;

/** Returns the password in the credentials Secret of a namespace. */
export const passwordIn = (namespace: string): string => `canary-password-${namespace}`;

/**
 * The whole operator on a virtual clock, for all namespaces of an API server in memory, and one
 * vault that records every request. Each connection has an account of its own; a secret has the
 * value `<account> <name> <number>`.
 */
export class ClusterScene implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly server = new InMemoryApiServer({ clock: this.clock });
  readonly vault = new InMemoryVault(this.clock);
  readonly calls: VaultCall[] = [];
  /** The networks between the operator and the API server, and the vault. */
  network: Network = {};
  vaultNetwork: VaultNetwork = {};
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #written = 0;

  constructor() {
    this.namespace(OPERATOR_NAMESPACE);
  }

  /** Creates a namespace with a credentials Secret. */
  namespace(name: string, labels: Readonly<Record<string, string>> = {}): void {
    this.server.createNamespace(name, labels);
    const data = { password: Buffer.from(passwordIn(name)).toString("base64") };
    const metadata = { namespace: name, name: LOGIN };
    this.server.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      type: CREDENTIALS_TYPE,
      data,
    });
  }

  /** Replaces the labels of a namespace. */
  label(name: string, labels: Readonly<Record<string, string>>): void {
    const namespace = this.server.get(NAMESPACES, { name });
    this.server.replace(NAMESPACES, { ...namespace, metadata: { ...namespace.metadata, labels } });
  }

  /** Creates or changes a connection, and its account with the password of its namespace. */
  connect(connection: SceneConnection, spec: object = {}): void {
    const { namespace, name } = connection;
    const email = accountOf(connection);
    this.vault.setPassword(email, passwordIn(namespace ?? OPERATOR_NAMESPACE));
    const auth = { passwordSecretRef: { name: LOGIN } };
    const kind = namespace === undefined ? clusterVaultConnectionKind : vaultConnectionKind;
    this.put(
      kind,
      { namespace, name },
      { url: "https://vault.example.com", email, auth, refreshInterval: "5s", ...spec },
    );
  }

  /** Creates or changes a VaultSecret; `keys` names the secret of each key. */
  follow(
    ref: Required<SceneConnection>,
    connection: SceneConnection,
    keys: Readonly<Record<string, string>>,
    spec = {},
  ): void {
    const data = Object.entries(keys).map(([secretKey, key]) => ({
      secretKey,
      remoteRef: { key },
    }));
    this.put(vaultSecretKind, ref, { connectionRef: refTo(connection), data, ...spec });
  }

  /** Creates or changes a VaultFile, whose target is a Secret. */
  followFiles(
    ref: Required<SceneConnection>,
    connection: SceneConnection,
    names: readonly string[],
  ): void {
    const files = names.map((filename, n) => ({ filename, key: `key-${n}` }));
    this.put(vaultFileKind, ref, {
      connectionRef: refTo(connection),
      files,
      target: { kind: "Secret" },
    });
  }

  put(kind: Kind, { namespace, name }: SceneConnection, spec: object): void {
    const metadata = { ...(namespace !== undefined && { namespace }), name };
    const before = this.server.find(kind, metadata);
    if (before === undefined)
      this.server.create(kind, { apiVersion, kind: kind.kind, metadata, spec });
    else this.server.replace(kind, { ...before, spec });
  }

  /** Writes a new version of secrets of an account, or creates them. */
  write(connection: SceneConnection, names: readonly string[], more: object = {}): void {
    for (const name of names) this.writeAs(accountOf(connection), name, more);
  }

  writeAs(email: string, key_name: string, more: object = {}): void {
    this.#written += 1;
    this.vault.act(email, "protect", {
      key_name,
      key_value: `${email} ${key_name} ${this.#written}`,
      ...more,
    });
  }

  start(flags: OperatorFlags = {}): void {
    const { clock, server } = this;
    const client = new ApiClient(server, { network: this.#apiNetwork() });
    const api = Object.assign(client, { fenced: () => client });
    this.#stop = new AbortController();
    this.#running = runEngine(
      {
        api,
        leaseApi: api,
        openTransport: () =>
          new InMemoryTransport({ vault: this.vault, clock, network: this.#vaultNetwork() }),
        namespace: OPERATOR_NAMESPACE,
        identity: "operator-1",
        host: "operator-1",
        config: operatorConfig({ leaderElect: false, ...flags }),
        clock,
        random: () => 0.5,
        logger: silentLogger,
        metrics: new MetricsRegistry(),
        onReady: () => undefined,
      },
      this.#stop.signal,
    );
  }

  /** Replaces the operator by one that remembers nothing. */
  async restart(): Promise<void> {
    await this[Symbol.asyncDispose]();
    this.start();
  }

  /** Lets the operator work for a while: long enough for a list of the vault. */
  settle(ms = 8_000): Promise<void> {
    return this.clock.advance(ms);
  }

  /** Returns the values of a target by key, and the reason of Ready. */
  outcome(namespace: string, name: string, kind = vaultSecretKind): string {
    const data = this.server.find(SECRETS, { namespace, name })?.["data"] ?? {};
    const values = Object.entries(data).map(
      ([key, value]) => `${key}=${Buffer.from(String(value), "base64").toString()}`,
    );
    return `${values.join(", ") || "absent"}: ${this.condition(kind, { namespace, name })?.reason}`;
  }

  condition(
    kind: Kind,
    ref: { readonly namespace?: string; readonly name: string },
    type = "Ready",
  ): Condition | undefined {
    return this.status(kind, ref).conditions?.find((one) => one.type === type);
  }

  status(
    kind: Kind,
    ref: { readonly namespace?: string; readonly name: string },
  ): Partial<ConnectionStatus> {
    return this.server.get(kind, ref)["status"] ?? {};
  }

  /** Returns the names that were read since the last call, each with the account. */
  takeReads(): string[] {
    const reads = this.calls.splice(0).filter(({ name }) => name !== undefined);
    return reads.map(({ account, name }) => `${account} ${name}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.clock.advance(20_000);
    await this.#running;
  }

  #apiNetwork(): Network {
    return {
      send: async (request, signal) => {
        await this.network.send?.(request, signal);
        if (request.verb !== "watch") await this.clock.sleep(API_LATENCY_MS, signal);
      },
      watchLagMs: (request) => this.network.watchLagMs?.(request) ?? API_LATENCY_MS,
    };
  }

  #vaultNetwork(): VaultNetwork {
    return {
      send: (request, signal) => {
        this.calls.push(this.#callOf(request));
        return this.vaultNetwork.send?.(request, signal) ?? Promise.resolve(undefined);
      },
    };
  }

  #callOf({ operation, body }: VaultRequest): VaultCall {
    const fields = new Map(Object.entries(body));
    const text = (field: string): string | undefined => {
      const value: unknown = fields.get(field);
      return typeof value === "string" ? value : undefined;
    };
    const name = text("key_name") ?? text("filename");
    return {
      at: this.clock.monotonic(),
      operation,
      account: text("email") ?? "",
      name,
      password: text("password"),
    };
  }
}

const refTo = ({ namespace, name }: SceneConnection): object => ({
  ...(namespace === undefined && { kind: clusterVaultConnectionKind.kind }),
  name,
});
