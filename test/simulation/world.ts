import { lineLogger } from "../support/assertions/line-logger.ts";
import type { Logger } from "../../src/lib/logger.ts";
import type { Random } from "../../src/lib/random.ts";
import { operatorConfig } from "../../src/operator/config.ts";
import { runEngine } from "../../src/operator/engine.ts";
import { ACCEPT_ANNOTATION, CREDENTIALS_TYPE } from "../../src/operator/api/names.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";
import { MetricsRegistry } from "../../src/telemetry/metrics-registry.ts";
import { promiseJobs, VirtualClock } from "../support/clock/virtual-clock.ts";
import { ApiClient } from "../support/kube/in-memory/api-client.ts";
import { ClusterControllers } from "../support/kube/in-memory/cluster-controllers.ts";
import { InMemoryApiServer } from "../support/kube/in-memory/in-memory-api-server.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { InMemoryTransport } from "../support/vault/in-memory/in-memory-transport.ts";
import { RequestRate } from "./invariants/request-rate.ts";
import { apiNetwork, type Faults, vaultNetwork } from "./networks.ts";
import { ProcessClock } from "./replica.ts";
import { CANARY, SimulatedVaults } from "./simulated-vaults.ts";
import { createWorkloads } from "./workloads.ts";

export const NAMESPACES = ["one", "two"] as const;
export const VAULTS = ["a", "b"] as const;
export const SYSTEM_NAMESPACE = "vaultsync-system";
export const CREATOR = "ann@example.com";
export const PASSWORD = "password-of-the-account";

/** Time after a user has deleted the Lease in which there may be two leaders, and the rest of the minute whose requests are counted. */
const TWO_LEADERS_MS = 75_000;

/** Time after a fault of the API server within which the operator opens its watches again, in milliseconds. */
const RECONNECT_MS = 300_000;
/** Maximum number of requests of one process in a minute. */
const MAX_PER_MINUTE = { "the API server": 3_000, "the vaults": 500 };
/** Time after which the operator has replaced a silent watch, in milliseconds. */
export const SILENCE_MS = 660_000;

/** The vault account of the ClusterVaultConnection. */
export const CLUSTER_ACCOUNT = "ops-cluster@example.com";

/** Returns the vault account of a namespace. */
export const accountOf = (namespace: string): string => `ops-${namespace}@example.com`;
export const urlOf = (vault: string): string => `https://vault-${vault}.example.com`;

/** A violated invariant: the simulation has found a mistake. */
export class Violation extends Error {
  readonly invariant: string;

  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`);
    this.invariant = invariant;
  }
}

interface Replica {
  readonly user: string;
  readonly clock: ProcessClock;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  hasEnded: boolean;
}

/** A cluster, its vaults and the replicas of the operator, under one virtual clock and one source of randomness. */
export class World {
  readonly clock = new VirtualClock(undefined, promiseJobs);
  readonly server: InMemoryApiServer;
  readonly vaults: SimulatedVaults;
  readonly faults: Faults = { api: new Map(), vault: new Map(), vaultEndedAt: new Map(), apiEndedAt: -Infinity, watchLagMs: 0 };
  readonly random: Random;
  readonly seed: number;
  /** Violations found outside of a step, e.g. by a logger. */
  readonly violations: Violation[] = [];
  /** Time at which a user deleted the Lease last, in monotonic milliseconds. */
  leaseDeletedAt = Number.NEGATIVE_INFINITY;
  /** Called with each read of a value by the account of the cluster: the replica, and the name. */
  onClusterRead: (user: string, entry: string) => void = () => undefined;
  /** Called when a vault carries out a write of a replica. */
  onVaultWrite: (user: string, operation: string) => void = () => undefined;
  /** Number of requests to the vaults. */
  vaultRequests = 0;
  /** Greatest error that the wall clock of a replica has had, in milliseconds. */
  greatestSkewMs = 0;
  #silencedAt = -Infinity;
  readonly #controllers: ClusterControllers;
  readonly #replicas: (Replica | undefined)[] = [undefined, undefined];
  #started = 0;

  constructor(seed: number) {
    this.seed = seed;
    this.random = seededRandom(seed);
    this.server = new InMemoryApiServer({ clock: this.clock, random: this.random, history: 200 });
    this.#controllers = new ClusterControllers(this.server);
    this.vaults = new SimulatedVaults(this.clock, VAULTS);
    this.server.onCommit(({ before, after }) => {
      const isNewDependent = !before && after?.metadata.ownerReferences !== undefined;
      if (!after || after.metadata.deletionTimestamp || isNewDependent) this.#controllers.wake();
    });
    // Events of cluster-scoped objects are in the namespace default.
    for (const namespace of ["default", SYSTEM_NAMESPACE, ...NAMESPACES]) this.server.createNamespace(namespace);
    for (const namespace of [SYSTEM_NAMESPACE, ...NAMESPACES]) this.setPassword(namespace, PASSWORD);
    createWorkloads(this.server, NAMESPACES);
    for (const vault of VAULTS) {
      for (const account of [CREATOR, CLUSTER_ACCOUNT]) this.vaults.vault(vault).setPassword(account, PASSWORD);
      for (const namespace of NAMESPACES) this.vaults.vault(vault).setPassword(accountOf(namespace), PASSWORD);
    }
  }

  /** Sets the password that a namespace's connections use. */
  setPassword(namespace: string, password: string): void {
    const metadata = { namespace, name: "login" };
    const data = { password: Buffer.from(password).toString("base64") };
    const secret = { apiVersion: "v1", kind: "Secret", metadata, type: CREDENTIALS_TYPE, data };
    const before = this.server.find(SECRETS, metadata);
    if (before) this.server.replace(SECRETS, { ...secret, metadata: before.metadata });
    else this.server.create(SECRETS, secret);
  }

  /** Starts a replica that is not running. */
  start(index: number): void {
    const before = this.#replicas[index];
    if (before && !before.hasEnded && !before.clock.isDead) return;
    this.#started += 1;
    const user = `operator-${this.#started}`;
    const isLoop = (): void => void this.violations.push(new Violation("I10", `${user} starts timers in a loop`));
    const clock = new ProcessClock(this.clock, isLoop);
    const stop = new AbortController();
    const replica: Replica = { user, clock, stop, hasEnded: false, ended: this.#run(user, clock, stop.signal) };
    const end = (): void => void (replica.hasEnded = true);
    replica.ended.then(end, end);
    this.#replicas[index] = replica;
  }

  /** Kills a replica: whatever it awaits never happens. */
  crash(index: number): void {
    const replica = this.#replicas[index];
    if (!replica) return;
    replica.clock.crash();
    this.#replicas[index] = undefined;
    for (const watch of this.server.watches()) if (watch.client === replica.user) watch.drop();
  }

  /** Ends a replica as SIGTERM does. */
  stop(index: number): void {
    this.#replicas[index]?.stop.abort(new Error("SIGTERM"));
  }

  suspend(index: number): void {
    this.#replicas[index]?.clock.suspend();
  }

  resume(index: number): void {
    this.#replicas[index]?.clock.resume();
  }

  skew(index: number, ms: number): void {
    const replica = this.#replicas[index];
    if (replica) replica.clock.skewMs = ms;
    this.greatestSkewMs = Math.max(this.greatestSkewMs, Math.abs(ms));
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    for (const [index, replica] of this.#replicas.entries()) {
      // The cluster restarts a process that ended.
      if (replica?.hasEnded) this.start(index);
    }
    const [violation] = this.violations;
    if (violation) throw violation;
  }

  /** Returns the `name@version` pairs that a user has accepted for a resource, `<kind>/<name>`. */
  acceptedBy(namespace: string | undefined, resource: string): ReadonlySet<string> {
    const [kind, name = ""] = resource.split("/");
    const descriptor = this.server.collections.find((collection) => collection.resource.kind === kind)?.resource;
    const object = descriptor && this.server.find(descriptor, { namespace, name });
    return new Set(object?.metadata.annotations?.[ACCEPT_ANNOTATION]?.split(","));
  }

  /** Makes half of the watches deliver nothing from now on. */
  silenceWatches(): void {
    for (const watch of this.server.watches()) if (this.random() < 0.5) watch.silence();
    this.#silencedAt = this.clock.monotonic();
  }

  /** Time in milliseconds for which watches may have shown nothing, because they are silent or cannot be opened. */
  get watchDelayMs(): number {
    const now = this.clock.monotonic();
    if (this.faults.api.size > 0 || now - this.faults.apiEndedAt < RECONNECT_MS) return Infinity;
    return this.hasSilentWatches ? SILENCE_MS : 0;
  }

  get hasSilentWatches(): boolean {
    return this.clock.monotonic() - this.#silencedAt < SILENCE_MS;
  }

  /** Returns since when a replica has not run for `withinMs` without a suspension; see ProcessClock. */
  suspendedAt(user: string, withinMs: number): number | undefined {
    return this.#replicas.find((replica) => replica?.user === user)?.clock.suspendedAt(withinMs);
  }

  endFaults(): void {
    for (const vault of this.faults.vault.keys()) this.faults.vaultEndedAt.set(vault, this.clock.monotonic());
    if (this.faults.api.size > 0) this.faults.apiEndedAt = this.clock.monotonic();
    this.faults.api.clear();
    this.faults.vault.clear();
    this.faults.watchLagMs = 0;
  }

  /** Ends all faults, corrects the passwords, and lets both replicas run. */
  calm(): void {
    for (const namespace of NAMESPACES) {
      this.setPassword(namespace, PASSWORD);
      for (const vault of VAULTS) this.vaults.vault(vault).setPassword(accountOf(namespace), PASSWORD);
    }
    this.endFaults();
    for (const index of this.#replicas.keys()) {
      this.resume(index);
      this.skew(index, 0);
      this.start(index);
    }
  }

  /** Ends everything, so that nothing of this world runs on. */
  end(): void {
    for (const index of this.#replicas.keys()) this.crash(index);
  }

  async #run(user: string, clock: ProcessClock, signal: AbortSignal): Promise<void> {
    const { server, faults, random } = this;
    const [toApi, toVaults] = [this.#rateOf(user, "the API server"), this.#rateOf(user, "the vaults")];
    const network = apiNetwork(faults, clock, random, () => toApi.count());
    await runEngine(
      {
        // Without a resync, nothing repairs a missing wake-up.
        config: { ...operatorConfig({ allowHttp: false, autoRestart: "off" }), resync: 0 },
        api: new ApiClient(server, { user, network }),
        leaseApi: new ApiClient(server, { user, network }),
        openTransport: (url) => this.#transport(url, user, clock, toVaults),
        namespace: SYSTEM_NAMESPACE,
        identity: user,
        host: user,
        clock,
        random,
        logger: this.#logger(),
        metrics: new MetricsRegistry(),
        onReady: () => undefined,
      },
      signal,
    );
  }

  #rateOf(user: string, to: keyof typeof MAX_PER_MINUTE): RequestRate {
    const most = MAX_PER_MINUTE[to];
    const message = `${user} sent more than ${most} requests in a minute to ${to}`;
    return new RequestRate(this.clock, most, () => {
      // The two leaders write their statuses over each other's.
      const isContested = this.clock.monotonic() - this.leaseDeletedAt < TWO_LEADERS_MS;
      if (!isContested) this.violations.push(new Violation("I10", message));
    });
  }

  #transport(url: string, user: string, clock: ProcessClock, rate: RequestRate): InMemoryTransport {
    const name = VAULTS.find((vault) => urlOf(vault) === url) ?? "a";
    const network = vaultNetwork(this.faults, name, clock, this.random);
    const writes = /^(protect|delete)/;
    const counted = {
      ...network,
      respond: (...args: Parameters<NonNullable<typeof network.respond>>) => {
        if (writes.test(args[0].operation)) this.onVaultWrite(user, args[0].operation);
        return network.respond!(...args);
      },
      send: (...args: Parameters<NonNullable<typeof network.send>>) => {
        this.vaultRequests += 1;
        rate.count();
        const { email, key_name, filename } = args[0].body as { email?: string; key_name?: string; filename?: string };
        const entry = key_name ?? filename;
        if (email === CLUSTER_ACCOUNT && entry !== undefined) this.onClusterRead(user, entry);
        return network.send!(...args);
      },
    };
    return new InMemoryTransport({ vault: this.vaults.vault(name), clock, network: counted });
  }

  /** A logger that looks for values. */
  #logger(): Logger {
    return lineLogger((line) => {
      if (line.includes(CANARY) || line.includes(PASSWORD))
        this.violations.push(new Violation("I11", `a log line contains a value: ${line}`));
    });
  }
}
