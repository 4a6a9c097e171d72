import {
  API_GROUP,
  API_VERSION,
  type Kind,
  vaultConnectionKind,
  vaultFileKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import type { Condition } from "../../../src/operator/api/status.ts";
import { CREDENTIALS_TYPE } from "../../../src/operator/api/names.ts";
import { operatorConfig, type OperatorFlags } from "../../../src/operator/config.ts";
import { apiRemedies } from "../../../src/operator/api-remedies.ts";
import { runEngine } from "../../../src/operator/operator.ts";
import { ApiProblems } from "../../../src/operator/kube/api-problems.ts";
import { SECRETS, type KubeObject, type ObjectRef } from "../../../src/operator/kube/resource.ts";
import { MetricsRegistry } from "../../../src/telemetry/metrics-registry.ts";
import { type LogLine, recordingLogger } from "../assertions/recording-logger.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { ApiClient, type Network } from "./api-server/api-client.ts";
import { InMemoryApiServer } from "./api-server/in-memory-api-server.ts";
import { ACCOUNT, PASSWORD, SimulatedVault } from "./simulated-vault.ts";

export const OPERATOR_NAMESPACE = "vaultsync-system";

export interface WorldOptions {
  /** Time of a request to the API server, and of an event to arrive, in milliseconds. */
  readonly apiLatencyMs?: number;
  /** Time that `settle` lasts by default, in milliseconds. */
  readonly settleMs?: number;
  /** Returns the password in the credentials Secret of a namespace. */
  readonly passwordIn?: (namespace: string) => string;
}

/**
 * The whole operator on a virtual clock, with an API server and vaults in memory. A test says what
 * there is, starts the operator, advances the clock, and reads what the operator did.
 */
export class SimulatedWorld implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly server = new InMemoryApiServer({ clock: this.clock });
  /** Metrics of the process that was started last. */
  metrics = new MetricsRegistry();
  /** Faults between the operator and the API server. */
  network: Network = {};
  /** Times of the requests to the API server, in monotonic milliseconds. */
  readonly requestedAt: number[] = [];
  /** Requests about single objects, each as `<verb> <plural> <name>`. */
  readonly requests: string[] = [];
  /** Reports whether the process that was started last is ready. */
  isReady = false;
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
  /** Times from a list that showed a version to the write of its target, by namespace. */
  readonly #propagations = new Map<string, number[]>();
  readonly #options: Required<WorldOptions>;
  #random = 1;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: WorldOptions = {}) {
    const defaults = { apiLatencyMs: 5, settleMs: 8_000, passwordIn: () => PASSWORD };
    this.#options = { ...defaults, ...options };
    this.server.createNamespace(OPERATOR_NAMESPACE);
    this.server.onCommit(({ resource, after }) => {
      if (resource.plural === SECRETS.plural && after !== undefined) this.#onWrite(after);
    });
  }

  /** The log lines of all its processes. */
  get log(): readonly LogLine[] {
    return this.#log.lines;
  }

  /** Returns the vault at `https://<name>.example.com`. */
  vault(name = "vault"): SimulatedVault {
    const vault = this.#vaults.get(name) ?? new SimulatedVault(this.clock);
    this.#vaults.set(name, vault);
    return vault;
  }

  /** Creates a namespace with the credentials Secret `login`. */
  namespace(name: string, labels: Readonly<Record<string, string>> = {}): void {
    this.server.createNamespace(name, labels);
    this.login(name);
  }

  /** Creates the credentials Secret `login` of a namespace. */
  protected login(namespace: string): void {
    const password = this.#options.passwordIn(namespace);
    this.server.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace, name: "login" },
      type: CREDENTIALS_TYPE,
      data: { password: Buffer.from(password).toString("base64") },
    });
  }

  /** Creates or changes a connection of {@link ACCOUNT} to the vault `vault`. */
  connection(ref: ObjectRef, spec: object = {}, kind: Kind = vaultConnectionKind): void {
    const auth = { passwordSecretRef: { name: "login" } };
    this.put(kind, ref, { url: "https://vault.example.com", email: ACCOUNT, auth, ...spec });
  }

  /** Creates a custom resource, or replaces its spec. */
  put(kind: Kind, ref: ObjectRef, spec: object): void {
    const { namespace, name } = ref;
    const metadata = { ...(namespace !== undefined && { namespace }), name };
    const before = this.server.find(kind, metadata);
    const apiVersion = `${API_GROUP}/${API_VERSION}`;
    if (before === undefined)
      this.server.create(kind, { apiVersion, kind: kind.kind, metadata, spec });
    else this.server.replace(kind, { ...before, spec });
  }

  /**
   * Creates a namespace with a VaultConnection, whose vault has secrets of these names, and a
   * VaultSecret for each, whose target has these policies. The vault has the name of the namespace,
   * or `of`.
   */
  addVault(
    namespace: string,
    names: readonly string[],
    target: object = {},
    { of = namespace, ...spec }: { readonly of?: string; readonly refreshInterval?: string } = {},
  ): SimulatedVault {
    const vault = this.#connected(namespace, of, spec);
    vault.write(...names);
    for (const name of names) this.addSecret(namespace, name, target, name);
    return vault;
  }

  /**
   * Creates a VaultSecret in a namespace, whose target has these policies and the value of this
   * secret of the vault.
   */
  addSecret(namespace: string, name: string, target: object, key: string): void {
    const data = [{ secretKey: "value", remoteRef: { key } }];
    const connectionRef = { name: "vault" };
    this.put(
      vaultSecretKind,
      { namespace, name },
      { connectionRef, target: { name, ...target }, data },
    );
  }

  /**
   * Creates a namespace with a VaultConnection, whose vault holds its lists and has files of these
   * names, and a VaultFile for each, whose target is a ConfigMap with these policies.
   */
  addFileVault(namespace: string, names: readonly string[], policies: object): SimulatedVault {
    const vault = this.#connected(namespace, namespace);
    vault.holds = true;
    vault.latencyMs = 0;
    for (const name of names) {
      vault.upload(ACCOUNT, name, Buffer.from(name));
      const target = { kind: "ConfigMap", name, ...policies };
      const files = [{ filename: name, key: "value" }];
      const connectionRef = { name: "vault" };
      this.put(vaultFileKind, { namespace, name }, { connectionRef, target, files });
    }
    return vault;
  }

  /** Creates a namespace with the connection `vault` to a vault. */
  #connected(namespace: string, vault: string, spec: object = {}): SimulatedVault {
    this.namespace(namespace);
    const url = `https://${vault}.example.com`;
    this.connection({ namespace, name: "vault" }, { url, ...spec });
    return this.vault(vault);
  }

  /** Returns the value of a target; `undefined` if there is none. */
  value(namespace: string, name: string): string | undefined {
    return valuesOf(this.server.find(SECRETS, { namespace, name }))?.["value"];
  }

  /** Returns a condition of the connection of a namespace, or of one of its VaultSecrets. */
  condition(type: string, namespace: string, name?: string): Condition | undefined {
    return name === undefined
      ? this.conditionOf(vaultConnectionKind, { namespace, name: "vault" }, type)
      : this.conditionOf(vaultSecretKind, { namespace, name }, type);
  }

  conditionOf(kind: Kind, ref: ObjectRef, type = "Ready"): Condition | undefined {
    const status = this.server.get(kind, ref)["status"] ?? {};
    const { conditions } = status as { readonly conditions?: readonly Condition[] };
    return conditions?.find((condition) => condition.type === type);
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

  /** Starts a process of the operator; with `flags`, it elects a leader by default. */
  start(flags: OperatorFlags = { leaderElect: false }): void {
    const { clock, server, metrics } = this;
    this.#stop = new AbortController();
    const client = new ApiClient(server, { network: this.#network() });
    const api = Object.assign(client, { fenced: () => client });
    const ports = {
      api,
      leaseApi: api,
      openTransport: (url: string) => this.#open(url),
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

  /** Replaces the operator by one that remembers nothing. `between` happens while none runs. */
  async restart(between: () => void = () => undefined, flags?: OperatorFlags): Promise<void> {
    await this[Symbol.asyncDispose]();
    between();
    this.metrics = new MetricsRegistry();
    this.start(flags);
  }

  /** Lets the operator work. */
  settle(ms = this.#options.settleMs): Promise<void> {
    return this.clock.advance(ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test has ended"));
    await this.clock.advance(20_000);
    await this.#running;
  }

  #open(url: string): ReturnType<SimulatedVault["open"]> {
    const vault = this.#vaults.get(new URL(url).hostname.split(".")[0] ?? "");
    if (vault === undefined) throw new Error(`no vault at ${url}`);
    return vault.open();
  }

  #onWrite(secret: KubeObject): void {
    const { namespace = "", name } = secret.metadata;
    const listedAt = this.#vaults
      .get(namespace)
      ?.takeListedAt(name, valuesOf(secret)?.["value"] ?? "");
    if (listedAt === undefined) return;
    const times = this.#propagations.get(namespace) ?? [];
    this.#propagations.set(namespace, times);
    times.push(this.clock.monotonic() - listedAt);
  }

  /** Returns the next number of a linear congruential generator: every run of a test is the same. */
  #nextRandom(): number {
    this.#random = (this.#random * 48_271) % 2_147_483_647;
    return this.#random / 2_147_483_647;
  }

  #network(): Network {
    const { apiLatencyMs } = this.#options;
    return {
      send: async (request, signal) => {
        const { verb, resource, ref } = request;
        this.requestedAt.push(this.clock.monotonic());
        if (verb !== "list" && verb !== "watch")
          this.requests.push(`${verb} ${resource.plural} ${ref.name}`);
        await this.network.send?.(request, signal);
        if (verb !== "watch" && apiLatencyMs > 0) await this.clock.sleep(apiLatencyMs, signal);
      },
      respond: (request, signal) => this.network.respond?.(request, signal),
      watchLagMs: (request) => this.network.watchLagMs?.(request) ?? apiLatencyMs,
    };
  }
}

/** Returns the values of a Secret by key; `undefined` if it does not exist. */
export function valuesOf(secret: KubeObject | undefined): Record<string, string> | undefined {
  if (secret === undefined) return undefined;
  const values = Object.entries(secret["data"] ?? {}).map(
    ([key, value]) => [key, Buffer.from(String(value), "base64").toString()] as const,
  );
  return Object.fromEntries(values);
}
