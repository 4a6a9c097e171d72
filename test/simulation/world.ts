import type { Random } from "../../src/lib/random.ts";
import { ACCEPT_ANNOTATION, CREDENTIALS_TYPE } from "../../src/operator/api/names.ts";
import { isForCluster } from "../../src/operator/config.ts";
import { vaultFileKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import {
  type KubeObject,
  NAMESPACES as KUBE_NAMESPACES,
  SECRETS,
} from "../../src/operator/kube/resource.ts";
import { promiseJobs, VirtualClock } from "../lab/clock/virtual-clock.ts";
import { ClusterControllers } from "../lab/simulated/api-server/cluster-controllers.ts";
import { InMemoryApiServer } from "../lab/simulated/api-server/in-memory-api-server.ts";
import { renewTokens } from "./stored-tokens.ts";
import { seededRandom } from "../lab/seeded-random.ts";
import { fannedOut, findOwner } from "./fanned-out.ts";
import { Freezes } from "./freezes.ts";
import type { Faults } from "./networks.ts";
import type { Origin } from "./origins.ts";
import type { Proxy } from "./path-to-vault.ts";
import { addIdentity } from "./identities.ts";
import { Replicas } from "./replicas.ts";
import { Rights } from "./rights.ts";
import type { SentRequest } from "./invariants/consumers.ts";
import { type CarriedOut, runReplica } from "./run-replica.ts";
import { SimulatedVaults, type Vanished } from "./simulated-vaults.ts";
import { simulateWorkloads } from "../lab/simulated/api-server/simulate-workloads.ts";
import { SimulationPods } from "./pods.ts";
import { createWorkloads, putCaBundle, ROLLOUT_MS } from "./workloads.ts";
import {
  accountOf,
  CLUSTER_ACCOUNT,
  CREATOR,
  LATE_NAMESPACE,
  NAMESPACES,
  PASSWORD,
  SYSTEM_NAMESPACE,
  VAULTS,
} from "./cast.ts";
import { Confirmations } from "./invariants/confirmations.ts";
import { Violation } from "./violation.ts";

export {
  accountOf,
  CLUSTER_ACCOUNT,
  CREATOR,
  EDITED_VERSION,
  LATE_NAMESPACE,
  NAMESPACES,
  PASSWORD,
  SYSTEM_NAMESPACE,
  urlOf,
  vaultAt,
  VAULTS,
} from "./cast.ts";
export { Violation } from "./violation.ts";

/**
 * Time after a fault of the API server within which the operator opens its watches again, in
 * milliseconds.
 */
const RECONNECT_MS = 300_000;
/** Time in which every watch that ended is open again while nothing fails, in milliseconds. */
const REOPEN_MS = 5_000;
/** Time in ms after a user has deleted the Lease in which its former holder may still write. */
const TWO_LEADERS_MS = 60_000;
/** Time after which the operator has replaced a silent watch, in milliseconds. */
export const SILENCE_MS = 660_000;

/**
 * A cluster, its vaults and the replicas of the operator, under one virtual clock and one source of
 * randomness.
 */
export class World {
  readonly clock = new VirtualClock(undefined, promiseJobs);
  readonly server: InMemoryApiServer;
  readonly vaults: SimulatedVaults;
  readonly replicas: Replicas;
  readonly freezes: Freezes;
  readonly pods: SimulationPods;
  readonly rights: Rights;
  /** The proxies in front of vaults, by the vault. */
  readonly proxies = new Map<string, Proxy>();
  /**
   * The accounts (`<vault> <account>`) whose tokens were revoked since users stored new ones last:
   * a refresh needs both tokens.
   */
  readonly revokedTokens = new Set<string>();
  readonly faults: Faults = {
    api: new Map(),
    vault: new Map(),
    vaultEndedAt: new Map(),
    apiEndedAt: -Infinity,
    watchLagMs: 0,
  };
  readonly random: Random;
  readonly seed: number;
  /** Violations found outside of a step, e.g. by a logger. */
  readonly violations: Violation[] = [];
  /**
   * The uids of targets without annotations when their statuses were removed: nothing says which
   * names rules had found.
   */
  readonly unknownTargets = new Set<string>();
  /** A user changed a target, or took it away. */
  isTampered = false;
  /** Time at which a user deleted the Lease last, in monotonic milliseconds. */
  leaseDeletedAt = Number.NEGATIVE_INFINITY;
  /** Called with each read of a value by the account of the cluster: the replica, and the name. */
  onClusterRead: (user: string, entry: string) => void = () => undefined;
  /** Called when a vault has carried out or rejected a request of a replica. */
  onVaultRequest: (request: CarriedOut) => void = () => undefined;
  /** Called with each request to a vault before it is sent. */
  onSend: (request: SentRequest) => void = () => undefined;
  /** Called before secrets with a prefix disappear from a vault. */
  onVanish: (vanished: Vanished) => void = () => undefined;
  /** Called when a VaultPush has deleted an entry. */
  onPushDelete: (entry: Pick<Origin, "vault" | "owner" | "name">) => void = () => undefined;
  /** Called when another party removes statuses of a namespace. */
  onWipe: (namespace: string) => void = () => undefined;
  /** Called before a user gives an existing resource another spec. */
  onEdit: (resource: KubeObject, spec: object) => void = () => undefined;
  readonly confirmations = new Confirmations();
  /** Called when a user confirms removals. */
  onConfirm: () => void = () => undefined;
  /**
   * Time in monotonic milliseconds since when everything has converged and nothing but the vaults'
   * values was changed.
   */
  quietSince = Infinity;
  /** Number of requests to the vaults. */
  vaultRequests = 0;
  #silencedAt = -Infinity;
  #droppedAt = -Infinity;
  #laggedAt = -Infinity;
  readonly #controllers: ClusterControllers;

  constructor(seed: number) {
    this.seed = seed;
    this.random = seededRandom(seed);
    this.server = new InMemoryApiServer({ clock: this.clock, random: this.random, history: 200 });
    this.#controllers = new ClusterControllers(this.server);
    this.freezes = new Freezes(this);
    this.vaults = new SimulatedVaults(this.clock, VAULTS);
    this.replicas = new Replicas({
      clock: this.clock,
      run: (...process) => runReplica(this, ...process),
      onLoop: (user) =>
        this.violations.push(new Violation("I10", `${user} starts timers in a loop`)),
      onCrash: (user) => this.dropWatches(user),
    });
    this.rights = new Rights(this.replicas, this.clock, (message) =>
      this.violations.push(new Violation("I8", message)),
    );
    this.server.authorize = (access) => this.rights.allows(access);
    this.server.onCommit(({ before, after }) => {
      const isNewDependent = !before && after?.metadata.ownerReferences !== undefined;
      if (!after || after.metadata.deletionTimestamp || isNewDependent) this.#controllers.wake();
    });
    // Events of cluster-scoped objects are in the namespace default.
    for (const namespace of ["default", SYSTEM_NAMESPACE]) this.server.createNamespace(namespace);
    this.setPassword(SYSTEM_NAMESPACE, PASSWORD);
    putCaBundle(this.server, SYSTEM_NAMESPACE);
    addIdentity(this, SYSTEM_NAMESPACE);
    simulateWorkloads(this.server, ROLLOUT_MS);
    this.pods = new SimulationPods(this.server);
    for (const namespace of NAMESPACES) this.createNamespace(namespace);
    for (const vault of VAULTS) {
      for (const account of [CREATOR, CLUSTER_ACCOUNT])
        this.vaults.vault(vault).setPassword(account, PASSWORD);
      for (const namespace of NAMESPACES)
        this.vaults.vault(vault).setPassword(accountOf(namespace), PASSWORD);
    }
  }

  /**
   * Reports whether a user has deleted the Lease so recently that its former holder may still write,
   * or `moreMs` milliseconds after that.
   */
  mayHaveTwoLeaders(moreMs = 0): boolean {
    return this.clock.monotonic() - this.leaseDeletedAt < TWO_LEADERS_MS + moreMs;
  }

  /**
   * Creates a namespace with the credentials and the workload that its users have there. The late
   * one has no workload: with a pod that does not end, a namespace is never deleted.
   */
  createNamespace(name: string): void {
    this.server.createNamespace(name);
    this.setPassword(name, PASSWORD);
    if (name !== LATE_NAMESPACE) createWorkloads(this.server, name);
    putCaBundle(this.server, name);
    addIdentity(this, name);
  }

  /** Ends all watches, or all of one replica. */
  dropWatches(user?: string): void {
    for (const watch of this.server.watches())
      if (user === undefined || watch.client === user) watch.drop();
    this.#droppedAt = this.clock.monotonic();
  }

  /** Reports whether one watch may not be open again, while another one is. */
  get mayLackWatches(): boolean {
    return this.clock.monotonic() - this.#droppedAt < REOPEN_MS;
  }

  /**
   * The VaultSecrets and VaultFiles, and those for several namespaces as one object for each: an
   * operator for some namespaces does not serve them.
   */
  get resources(): KubeObject[] {
    const { server, replicas } = this;
    return [
      ...server.all(vaultSecretKind),
      ...server.all(vaultFileKind),
      ...(isForCluster(replicas.config) ? fannedOut(server) : []),
    ];
  }

  /** Greatest error that the wall clock of a replica has had, in milliseconds. */
  get greatestSkewMs(): number {
    return this.replicas.greatestSkewMs;
  }

  /** Sets the password that a namespace's connections use, for any host. */
  setPassword(namespace: string, password: string): void {
    const metadata = { namespace, name: "login" };
    const data = { password: Buffer.from(password).toString("base64") };
    const secret = { apiVersion: "v1", kind: "Secret", metadata, type: CREDENTIALS_TYPE, data };
    const before = this.server.find(SECRETS, metadata);
    if (before)
      this.server.replace(SECRETS, {
        ...secret,
        metadata: { ...before.metadata, annotations: {} },
      });
    else this.server.create(SECRETS, secret);
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    this.replicas.restartEnded();
    const [violation] = this.violations;
    if (violation) throw violation;
  }

  /** Returns the `name@version` pairs that a user has accepted for a resource, `<kind>/<name>`. */
  acceptedBy(namespace: string | undefined, resource: string): ReadonlySet<string> {
    const object = findOwner(this.server, namespace, resource);
    return new Set(object?.metadata.annotations?.[ACCEPT_ANNOTATION]?.split(","));
  }

  /** Makes half of the watches deliver nothing from now on. */
  silenceWatches(): void {
    for (const watch of this.server.watches()) if (this.random() < 0.5) watch.silence();
    this.#silencedAt = this.clock.monotonic();
  }

  /**
   * Time in milliseconds for which watches of a namespace may have shown nothing, because they are
   * silent or cannot be opened: to a replica that has seen nothing since `at`.
   */
  watchDelayMs(namespace?: string, at = this.clock.monotonic()): number {
    if (namespace !== undefined && this.rights.wasUnwatched(namespace, RECONNECT_MS, at))
      return Infinity;
    if (this.faults.api.size > 0 || at - this.faults.apiEndedAt < RECONNECT_MS) return Infinity;
    return at - this.#silencedAt < SILENCE_MS ? SILENCE_MS : 0;
  }

  /**
   * Reports whether a watch may show a change late: one that was opened during a lag has it until
   * it ends.
   */
  get mayLag(): boolean {
    return (
      this.watchDelayMs() > 0 ||
      this.faults.watchLagMs > 0 ||
      this.clock.monotonic() - this.#laggedAt < SILENCE_MS
    );
  }

  /** Makes the watches that are opened from now on show changes late. */
  lagWatches(ms: number): void {
    if (Math.max(ms, this.faults.watchLagMs) > 0) this.#laggedAt = this.clock.monotonic();
    this.faults.watchLagMs = ms;
  }

  get hasSilentWatches(): boolean {
    return this.clock.monotonic() - this.#silencedAt < SILENCE_MS;
  }

  get hasFaults(): boolean {
    const { api, vault, watchLagMs } = this.faults;
    return api.size + vault.size > 0 || watchLagMs > 0 || this.hasSilentWatches;
  }

  endFaults(): void {
    for (const vault of this.faults.vault.keys())
      this.faults.vaultEndedAt.set(vault, this.clock.monotonic());
    if (this.faults.api.size > 0) this.faults.apiEndedAt = this.clock.monotonic();
    this.faults.api.clear();
    this.faults.vault.clear();
    this.lagWatches(0);
  }

  /** Reports whether objects can be created in a namespace. */
  #exists(name: string): boolean {
    const namespace = this.server.find(KUBE_NAMESPACES, { name });
    return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
  }

  /** Ends all faults, repairs what connections need, and lets both replicas run. */
  calm(): void {
    for (const namespace of NAMESPACES) {
      if (this.#exists(namespace)) {
        this.setPassword(namespace, PASSWORD);
        putCaBundle(this.server, namespace);
        addIdentity(this, namespace);
      }
      for (const vault of VAULTS)
        this.vaults.vault(vault).setPassword(accountOf(namespace), PASSWORD);
    }
    addIdentity(this, SYSTEM_NAMESPACE);
    renewTokens(this, [
      SYSTEM_NAMESPACE,
      ...NAMESPACES.filter((namespace) => this.#exists(namespace)),
    ]);
    this.endFaults();
    this.freezes.correct();
    this.replicas.calm();
  }

  /** Ends everything: nothing of this world runs on. */
  end(): void {
    this.replicas.crashAll();
  }
}
