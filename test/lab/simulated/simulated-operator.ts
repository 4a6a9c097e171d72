import { type Kind, vaultConnectionKind } from "../../../src/operator/api/kinds.ts";
import { CREDENTIALS_TYPE } from "../../../src/operator/api/names.ts";
import type { Condition } from "../../../src/operator/api/status.ts";
import { operatorConfig, type OperatorFlags } from "../../../src/operator/config.ts";
import { apiRemedies } from "../../../src/operator/api-remedies.ts";
import { runEngine } from "../../../src/operator/operator.ts";
import { ApiProblems } from "../../../src/operator/kube/api-problems.ts";
import {
  EVENTS,
  type KubeObject,
  type ObjectRef,
  SECRETS,
} from "../../../src/operator/kube/resource.ts";
import { MetricsRegistry } from "../../../src/telemetry/metrics-registry.ts";
import { type LogLine, recordingLogger } from "../assertions/recording-logger.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { putResource } from "./api-server/put-resource.ts";
import { ApiClient, type Network } from "./api-server/api-client.ts";
import { InMemoryApiServer } from "./api-server/in-memory-api-server.ts";
import { ACCOUNT, PASSWORD, SimulatedVault } from "./simulated-vault.ts";

/** The namespace of resources without another one. */
export const SHOP = "shop";
export const OPERATOR_NAMESPACE = "vaultsync-system";

export interface WorldOptions {
  /** Time of a request to the API server, and of an event to arrive, in milliseconds. */
  readonly apiLatencyMs?: number;
  /** Time that `settle` lasts by default, in milliseconds. */
  readonly settleMs?: number;
  /** The vaults hold their lists and respond immediately. */
  readonly immediateVaults?: boolean;
  /** Returns the password in the credentials Secret of a namespace. */
  readonly passwordIn?: (namespace: string) => string;
}

/** The fields of an event that tests expect. */
interface StoredEvent {
  readonly type: string;
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  readonly regarding: { readonly kind: string; readonly name: string };
}

/** Processes of the operator on a virtual clock, with an API server and vaults in memory. */
export class SimulatedOperator implements AsyncDisposable {
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
  protected readonly options: Required<WorldOptions>;
  #flags: OperatorFlags = {};
  #denied: ReadonlySet<string> = new Set();
  #processes = 0;
  #random = 1;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: WorldOptions = {}) {
    const defaults = {
      apiLatencyMs: 5,
      settleMs: 8_000,
      immediateVaults: false,
      passwordIn: () => PASSWORD,
    };
    this.options = { ...defaults, ...options };
    this.namespace(OPERATOR_NAMESPACE);
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
    const found = this.#vaults.get(name);
    if (found !== undefined) return found;
    const vault = new SimulatedVault(this.clock, name);
    if (this.options.immediateVaults) Object.assign(vault, { holds: true, latencyMs: 0 });
    this.#vaults.set(name, vault);
    return vault;
  }

  /** Starts a process of the operator; with `flags`, it elects a leader by default. */
  start(flags: OperatorFlags = { leaderElect: false }): void {
    this.#flags = flags;
    this.metrics = new MetricsRegistry();
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
    this.#processes += 1;
    const identity = `operator-${this.#processes}`;
    const names = { namespace: OPERATOR_NAMESPACE, identity, host: identity };
    const config = operatorConfig(flags);
    const random = (): number => this.#nextRandom();
    this.isReady = false;
    const onReady = (): void => void (this.isReady = true);
    this.#running = runEngine({ ...ports, ...names, config, random, onReady }, this.#stop.signal);
  }

  /**
   * Replaces the operator by one that remembers nothing, with `changes` of its flags. `between`
   * happens while none runs.
   */
  async restart(between: () => void = () => undefined, changes: OperatorFlags = {}): Promise<void> {
    await this.stop();
    between();
    this.start({ ...this.#flags, ...changes });
  }

  /**
   * Starts a second process, whose watches are complete when the first one stops. The operator
   * elects a leader.
   */
  async takeOver(): Promise<void> {
    const [first, running] = [this.#stop, this.#running];
    this.start(this.#flags);
    await this.clock.advance(1_000);
    first.abort(new Error("stopped"));
    await this.#ended(running);
  }

  /**
   * Denies the operator everything in namespaces, or one collection (`<namespace>/<plural>`), and
   * drops all watches.
   */
  deny(...what: readonly string[]): void {
    const denied = new Set([...this.#denied, ...what]);
    this.#denied = denied;
    this.server.authorize = ({ user, namespace = "", resource }) =>
      user !== "operator" ||
      (!denied.has(namespace) && !denied.has(`${namespace}/${resource.plural}`));
    for (const watch of this.server.watches()) watch.drop();
  }

  /** Ends all denials. */
  allow(): void {
    this.#denied = new Set();
    this.server.authorize = () => true;
  }

  /** Lets the operator work. */
  settle(ms = this.options.settleMs): Promise<void> {
    return this.clock.advance(ms);
  }

  /** Stops the operator if it runs. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#ended(this.#running);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Creates a namespace with the credentials Secret `login`. */
  namespace(name: string, labels: Readonly<Record<string, string>> = {}): void {
    this.server.createNamespace(name, labels);
    this.#login(name);
  }

  /** Creates the credentials Secret `login` of a namespace. */
  #login(namespace: string): void {
    const password = this.options.passwordIn(namespace);
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
    putResource(this.server, kind, ref, spec);
  }

  conditionOf(kind: Kind, ref: ObjectRef, type = "Ready"): Condition | undefined {
    const status = this.server.get(kind, ref)["status"] ?? {};
    const { conditions } = status as { readonly conditions?: readonly Condition[] };
    return conditions?.find((condition) => condition.type === type);
  }

  /** Events that the API server stores, in the order of their creation. */
  get events(): readonly StoredEvent[] {
    return this.server.all(EVENTS) as unknown as readonly StoredEvent[];
  }

  /** Returns the samples of a metric of the process that was started last, by their labels. */
  async samples(metric: string): Promise<Map<string, number>> {
    const samples = new Map<string, number>();
    for (const line of (await this.metrics.text()).split("\n")) {
      const [, name, labels = "", value] = /^(\w+)(\{.*\})? (\S+)$/u.exec(line) ?? [];
      if (name === metric) samples.set(labels, Number(value));
    }
    return samples;
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

  async #ended(running: Promise<void>): Promise<void> {
    const state = { isRunning: true };
    const ended = running.finally(() => (state.isRunning = false));
    while (state.isRunning) await this.clock.advance(10);
    await ended;
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
    const { apiLatencyMs } = this.options;
    return {
      send: async (request) => {
        const { verb, resource, ref } = request;
        this.requestedAt.push(this.clock.monotonic());
        if (verb !== "list" && verb !== "watch")
          this.requests.push(`${verb} ${resource.plural} ${ref.name}`);
        await this.network.send?.(request);
        if (verb !== "watch" && apiLatencyMs > 0)
          await this.clock.sleep(apiLatencyMs, request.signal);
      },
      respond: (request) => this.network.respond?.(request),
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
