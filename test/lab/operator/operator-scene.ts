import {
  API_GROUP,
  API_VERSION,
  vaultConnectionKind,
  vaultFileKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import type { Condition } from "../../../src/operator/api/status.ts";
import { CREDENTIALS_TYPE } from "../../../src/operator/api/names.ts";
import { operatorConfig, type OperatorFlags } from "../../../src/operator/config.ts";
import { runEngine } from "../../../src/operator/engine.ts";
import { apiRemedies } from "../../../src/operator/api-remedies.ts";
import { ApiProblems } from "../../../src/operator/kube/api-problems.ts";
import { KubeError } from "../../../src/operator/kube/kube-error.ts";
import { CONFIG_MAPS, type KubeObject, SECRETS } from "../../../src/operator/kube/resource.ts";
import { MetricsRegistry } from "../../../src/telemetry/metrics-registry.ts";
import { type LogLine, recordingLogger } from "../assertions/recording-logger.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { ApiClient, type Network } from "../kube/in-memory/api-client.ts";
import { InMemoryApiServer } from "../kube/in-memory/in-memory-api-server.ts";
import type {
  VaultRequest,
  VaultTransport,
} from "../../../src/operator/vault-client/http/vault-transport.ts";
import { TransientError } from "../../../src/operator/vault-client/vault-error.ts";
import { InMemoryTransport } from "../vault/in-memory/in-memory-transport.ts";
import { InMemoryVault } from "../vault/in-memory/in-memory-vault.ts";
import { SimulatedVault } from "../vault/simulated-vault.ts";

const apiVersion = `${API_GROUP}/${API_VERSION}`;
const OPERATOR_NAMESPACE = "vaultsync-system";
/** The account of every connection. */
export const ACCOUNT = "ops@example.com";
const PASSWORD = "canary-password";
/** Time of a request to the API server, and of an event to arrive, in milliseconds. */
const API_LATENCY_MS = 5;

/**
 * The whole operator on a virtual clock, with an API server in memory and a vault in memory for
 * each namespace.
 */
export class OperatorScene implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly server = new InMemoryApiServer({ clock: this.clock });
  metrics = new MetricsRegistry();
  /** Times of the requests to the API server, in monotonic milliseconds. */
  readonly requestedAt: number[] = [];
  /** Requests about single resources and targets, each as `<verb> <plural> <name>`. */
  readonly requests: string[] = [];
  /** Maximum number of targets that were created simultaneously. */
  maxInFlight = 0;
  /** Reports whether the operator that was started last is ready. */
  isReady = false;
  /** Returns the error of a request to the API server, `<verb> <plural>`. */
  failureOf: (request: string) => KubeError | undefined = () => undefined;
  /** Content of the file of the flag `namespacesFile`. */
  namespacesFile = "";
  readonly #log = recordingLogger();
  /** The failing requests of all its processes. */
  readonly problems = new ApiProblems({
    clock: this.clock,
    logger: this.#log.logger,
    host: "10.0.0.1:6443",
    remedies: apiRemedies(true),
  });
  readonly #vaults = new Map<string, SimulatedVault>();
  readonly #transports = new Map<string, () => VaultTransport>();
  readonly #vaultOutages = new Set<string>();
  readonly #propagations = new Map<string, number[]>();
  #stop = new AbortController();
  #outage: KubeError | undefined;
  #random = 1;
  #inFlight = 0;
  #running: Promise<void> = Promise.resolve();

  constructor() {
    this.server.createNamespace(OPERATOR_NAMESPACE);
    this.server.onCommit(({ resource, after }) => {
      if (resource.plural === SECRETS.plural && after !== undefined) this.#onWrite(after);
    });
  }

  /**
   * Creates a namespace with a VaultConnection, whose vault has secrets of these names, and a
   * VaultSecret for each, whose target has these policies. The vault is that of the namespace `of`,
   * if given.
   */
  addVault(
    namespace: string,
    names: readonly string[],
    target: object = {},
    { of = namespace, ...spec }: { readonly of?: string; readonly refreshInterval?: string } = {},
  ): SimulatedVault {
    const vault = this.#vaults.get(urlOf(of)) ?? new SimulatedVault(this.clock);
    this.#vaults.set(urlOf(of), vault);
    vault.write(...names);
    this.#addConnection(namespace, () => vault, { url: urlOf(of), ...spec });
    for (const name of names) this.addSecret(namespace, name, target, name);
    return vault;
  }

  /**
   * Creates a VaultSecret in a namespace, whose target has these policies and the value of this
   * secret of the vault.
   */
  addSecret(namespace: string, name: string, target: object, key: string): void {
    const spec = {
      connectionRef: { name: "vault" },
      target: { name, ...target },
      data: [{ secretKey: "value", remoteRef: { key } }],
    };
    this.server.create(vaultSecretKind, {
      apiVersion,
      kind: "VaultSecret",
      metadata: { namespace, name },
      spec,
    });
  }

  /**
   * Creates a namespace with a VaultConnection, whose vault holds its lists and has files of these
   * names, and a VaultFile for each, whose target is a ConfigMap with these policies.
   */
  addFileVault(namespace: string, names: readonly string[], policies: object): InMemoryVault {
    const { clock } = this;
    const vault = new InMemoryVault(clock);
    vault.setPassword(ACCOUNT, PASSWORD);
    for (const name of names) vault.upload(ACCOUNT, name, Buffer.from(name));
    const send = async ({ operation }: VaultRequest): Promise<undefined> => {
      if (this.#vaultOutages.has(namespace)) throw new TransientError(operation, "unreachable");
    };
    this.#addConnection(
      namespace,
      () => new InMemoryTransport({ vault, clock, network: { send } }),
    );
    for (const name of names) {
      const target = { kind: "ConfigMap", name, ...policies };
      const spec = {
        connectionRef: { name: "vault" },
        target,
        files: [{ filename: name, key: "value" }],
      };
      this.server.create(vaultFileKind, {
        apiVersion,
        kind: "VaultFile",
        metadata: { namespace, name },
        spec,
      });
    }
    return vault;
  }

  #addConnection(
    namespace: string,
    openTransport: () => VaultTransport,
    changes: { readonly url?: string } = {},
  ): void {
    const { server } = this;
    const { url = urlOf(namespace) } = changes;
    this.#transports.set(url, openTransport);
    server.createNamespace(namespace);
    const data = { password: Buffer.from(PASSWORD).toString("base64") };
    const login = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace, name: "login" },
      type: CREDENTIALS_TYPE,
      data,
    };
    server.create(SECRETS, login);
    const spec = {
      email: ACCOUNT,
      auth: { passwordSecretRef: { name: "login" } },
      ...changes,
      url,
    };
    server.create(vaultConnectionKind, {
      apiVersion,
      kind: "VaultConnection",
      metadata: { namespace, name: "vault" },
      spec,
    });
  }

  /** The log lines of all its processes. */
  get log(): readonly LogLine[] {
    return this.#log.lines;
  }

  /** Returns the vault of a namespace with secrets. */
  vault(namespace: string): SimulatedVault {
    const vault = this.#vaults.get(urlOf(namespace));
    if (vault === undefined) throw new Error(`no vault of ${namespace}`);
    return vault;
  }

  /** Returns the value of a target; `undefined` if there is none. */
  value(namespace: string, name: string): string | undefined {
    const object = this.server.find(SECRETS, { namespace, name });
    return object && valueOf(object);
  }

  /**
   * Returns the times from a list that showed a new version to the write of the target, in
   * milliseconds.
   */
  propagations(namespace: string): number[] {
    return this.#propagations.get(namespace) ?? [];
  }

  /** Forgets what was measured so far. */
  resetMeasurements(): void {
    this.#propagations.clear();
    this.requestedAt.length = 0;
    this.requests.length = 0;
    for (const vault of this.#vaults.values()) vault.listedAt.length = 0;
  }

  /** Starts the operator, alone or as the holder of all shards. */
  start(flags: OperatorFlags = { leaderElect: false }): void {
    const { clock, server, metrics } = this;
    const client = new ApiClient(server, { network: this.#network() });
    const api = Object.assign(client, { fenced: () => client });
    const ports = {
      api,
      leaseApi: api,
      openTransport: (url: string) => this.#openTransport(url),
      clock,
      metrics,
      logger: this.#log.logger,
      problems: this.problems,
      ...(flags.namespacesFile !== undefined && {
        readNamespaces: () => Promise.resolve(this.namespacesFile),
      }),
    };
    const names = { namespace: OPERATOR_NAMESPACE, identity: "operator-1", host: "operator-1" };
    const config = operatorConfig(flags);
    const random = (): number => this.#nextRandom();
    this.isReady = false;
    const onReady = (): void => void (this.isReady = true);
    this.#running = runEngine({ ...ports, ...names, config, random, onReady }, this.#stop.signal);
  }

  /** Replaces the operator by one that remembers nothing. `meanwhile` happens while none runs. */
  async restart(meanwhile: () => void = () => undefined, flags?: OperatorFlags): Promise<void> {
    await this[Symbol.asyncDispose]();
    meanwhile();
    this.#stop = new AbortController();
    this.metrics = new MetricsRegistry();
    this.start(flags);
  }

  /** Reports whether the ConfigMap of a VaultFile exists. */
  hasFile(namespace: string, name: string): boolean {
    return this.server.find(CONFIG_MAPS, { namespace, name }) !== undefined;
  }

  /** Returns a condition of the connection of a namespace, or of one of its VaultSecrets. */
  condition(type: string, namespace: string, name?: string): Condition | undefined {
    const object =
      name === undefined
        ? this.server.get(vaultConnectionKind, { namespace, name: "vault" })
        : this.server.get(vaultSecretKind, { namespace, name });
    const { conditions } = object["status"] as { readonly conditions?: readonly Condition[] };
    return conditions?.find((condition) => condition.type === type);
  }

  /** Makes the API server unavailable: watches end, and every request fails. */
  beginOutage(): void {
    this.#outage = new KubeError({
      kind: "Unavailable",
      operation: "any request",
      reason: "ECONNREFUSED",
    });
    for (const watch of this.server.watches()) watch.drop();
  }

  /** Makes the vault of a namespace with files unreachable. */
  beginVaultOutage(namespace: string): void {
    this.#vaultOutages.add(namespace);
  }

  endOutage(): void {
    this.#outage = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test has ended"));
    await this.clock.advance(20_000);
    await this.#running;
  }

  #onWrite(secret: KubeObject): void {
    const { namespace = "", name } = secret.metadata;
    const vault = this.#vaults.get(urlOf(namespace));
    const listedAt = vault?.takeListedAt(name, valueOf(secret) ?? "");
    if (listedAt === undefined) return;
    const times = this.#propagations.get(namespace) ?? [];
    this.#propagations.set(namespace, times);
    times.push(this.clock.monotonic() - listedAt);
  }

  #openTransport(url: string): VaultTransport {
    const open = this.#transports.get(url);
    if (open === undefined) throw new Error(`no vault at ${url}`);
    return open();
  }

  #network(): Network {
    return {
      send: async ({ verb, resource, ref }, signal) => {
        this.requestedAt.push(this.clock.monotonic());
        if (verb !== "list" && verb !== "watch")
          this.requests.push(`${verb} ${resource.plural} ${ref.name}`);
        const failure = this.#outage ?? this.failureOf(`${verb} ${resource.plural}`);
        if (failure !== undefined) throw failure;
        if (verb === "watch") return;
        const isTarget = verb === "create" && resource.plural === SECRETS.plural;
        if (isTarget) this.maxInFlight = Math.max(this.maxInFlight, (this.#inFlight += 1));
        await this.clock.sleep(API_LATENCY_MS, signal);
        if (isTarget) this.#inFlight -= 1;
      },
      watchLagMs: () => API_LATENCY_MS,
    };
  }

  /**
   * Returns the next number of a linear congruential generator, so that every run of a test is the
   * same.
   */
  #nextRandom(): number {
    this.#random = (this.#random * 48_271) % 2_147_483_647;
    return this.#random / 2_147_483_647;
  }
}

const urlOf = (namespace: string): string => `https://${namespace}.example.com`;

function valueOf({ data }: KubeObject): string | undefined {
  const encoded: unknown = new Map(Object.entries(data ?? {})).get("value");
  return typeof encoded === "string" ? Buffer.from(encoded, "base64").toString() : undefined;
}
