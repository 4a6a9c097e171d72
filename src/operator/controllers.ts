import { isDeepStrictEqual } from "node:util";
import { connectionKindOf } from "./api/connection-key.ts";
import type { BlastLimits } from "./controllers/connection/blast-limit.ts";
import { ClusterAccess } from "./controllers/connection/cluster-access.ts";
import { ConnectionController } from "./controllers/connection/connection-controller.ts";
import {
  ConnectionReconciler,
  type ConnectionFactory,
} from "./controllers/connection/connection-reconciler.ts";
import { ConnectionRegistry } from "./controllers/connection/connection-registry.ts";
import type { ConnectionUsers, JoinedNames } from "./controllers/connection/connection-users.ts";
import { FanOutController } from "./controllers/fan-out/fan-out-controller.ts";
import { resourcesByKind, type WatchedResources } from "./controllers/fan-out/resources-by-kind.ts";
import { ConvergenceController } from "./controllers/convergence/convergence-controller.ts";
import { withShownTargets } from "./controllers/fan-out/shown-targets.ts";
import { RestartController } from "./controllers/restart/restart-controller.ts";
import type { RestartObserver } from "./controllers/restart/restart-reconciler.ts";
import type { WorkloadWatch } from "./controllers/restart/workload-watch.ts";
import type { PushBudget } from "./controllers/push/push-budget.ts";
import type { ClusterResources } from "./controllers/push/push-rivals.ts";
import type { ControllerParts, ReconcilerParts } from "./controllers/outcome/parts.ts";
import { Pushes } from "./controllers/push/pushes.ts";
import type { Timer } from "../lib/clock.ts";
import type { Redacted } from "../lib/redacted.ts";
import type { WriteFence } from "./kube/client/kube-api.ts";
import type { KubeObject } from "./kube/resource.ts";
import { type Watched, replayAndSubscribe } from "./kube/cache/filtered-view.ts";
import type { NamespaceFacts } from "./connection/namespace-facts.ts";
import { Freezes } from "./controllers/sync/freezes.ts";
import { type SyncedObjects, Syncs, type SyncsOptions } from "./controllers/sync/syncs.ts";
import type { ParsedResource } from "./sync/parse-resource.ts";
import { forEachKind, type SyncKind } from "./sync/sync-key.ts";
import { joinedView } from "./kube/cache/joined-view.ts";
import type { StoreChange } from "./kube/cache/object-store.ts";
import type { Freeze } from "./sync/freeze.ts";
import type { QueueLimits } from "./runtime/queue-limits.ts";
import type { WorkQueue } from "./runtime/work-queue.ts";
import type { WorkloadKind } from "./api/rollout-restart.ts";
import type { References } from "./vault-client/connection.ts";

/**
 * Time in milliseconds for which changed references are collected before the connection gets them.
 */
const REFERENCES_DELAY_MS = 100;

/** The objects of the API server that the controllers follow. */
export interface WatchedObjects extends SyncedObjects, WatchedResources {
  readonly connections: Watched<KubeObject>;
  /** `undefined`, like the namespaces, if the operator serves some namespaces only. */
  readonly clusterConnections?: Watched<KubeObject> | undefined;
  /** The ConfigMaps of freezes in the operator's namespace. */
  readonly freezes: Watched<Freeze>;
  readonly pushes: Watched<KubeObject>;
  /** Versions of the credentials Secrets. */
  readonly credentials: Watched<string | undefined>;
}

/**
 * Observes the reconciliations and what they achieve; implemented by the metrics. Must not throw.
 */
export type SyncObserver = SyncsOptions["observer"] & RestartObserver;

/** Options of the restarts of workloads. */
interface RestartOptions {
  readonly workloads: Readonly<Record<WorkloadKind, WorkloadWatch>>;
  /** Reports whether this shard is responsible for the workloads of a namespace. */
  readonly isResponsible: (namespace: string) => boolean;
  /** Duration of the quiet window in milliseconds. */
  readonly windowMs: number;
  readonly auto: boolean;
  /** Time in milliseconds within which a kubelet renews a volume. */
  readonly volumeSyncMs: number;
}

export interface ControllersOptions extends ControllerParts, ReconcilerParts {
  readonly reflectors: WatchedObjects;
  readonly restarts: RestartOptions;
  /** The custom resources of all shards: a workload may use targets of several. */
  readonly cluster: ClusterResources & WatchedResources;
  /**
   * Limits writes to the vaults to the time in which this process leads; `undefined` without leader
   * election.
   */
  readonly fence: WriteFence | undefined;
  readonly connectionFactory: ConnectionFactory;
  /** The limits of removals. All shards of the process share them. */
  readonly blastLimits: BlastLimits;
  readonly contentKey: Redacted<Uint8Array>;
  /** The operator's namespace. */
  readonly namespace: string;
  /** Audiences of ServiceAccounts' tokens in addition to the address of each vault. */
  readonly tokenAudiences: readonly string[];
  /** Types of target Secrets in addition to the default ones. */
  readonly allowedSecretTypes: readonly string[];
  /**
   * Limits of each controller that all shards of the process share, such as the number of keys that
   * are reconciled simultaneously.
   */
  readonly limits: Readonly<Record<"sync" | "connections", QueueLimits>>;
  /** Shared by all shards of the process. */
  readonly pushBudget: PushBudget;
  readonly observer: SyncObserver;
  /** Aborted when the operator stops. */
  readonly signal: AbortSignal;
}

/**
 * The controllers and what they share. Passes the changes of each reflector to the controllers that
 * it concerns.
 */
export class Controllers implements AsyncDisposable {
  readonly connections: ConnectionRegistry;
  readonly #options: ControllersOptions;
  /** The connections of both kinds. */
  readonly #watchedConnections: Watched<KubeObject>;
  readonly #sync: Syncs;
  readonly #push: Pushes;
  readonly #connectionReconciler: ConnectionReconciler;
  readonly #connection: ConnectionController;
  readonly #restart: RestartController;
  readonly #convergence: ConvergenceController;
  readonly #fanOut: FanOutController;
  /** The views of the cluster-scoped resources. */
  readonly #views = new DisposableStack();
  /** Connections whose references changed, until these are passed on. */
  readonly #pendingReferences = new Map<string, Timer>();

  constructor(options: ControllersOptions) {
    const { reflectors, clock, blastLimits } = options;
    const { connections: namespaced, clusterConnections, namespaces } = reflectors;
    this.#options = options;
    this.#watchedConnections = clusterConnections
      ? joinedView(namespaced, clusterConnections)
      : namespaced;
    const resources = this.#watchedConnections.store;
    // The registry and the controllers below use each other.
    this.connections = new ConnectionRegistry({
      clock,
      blastLimits,
      exists: (key) => {
        const object = resources.get(key);
        return object !== undefined && object.metadata.deletionTimestamp === undefined;
      },
      users: () => this.#users,
      reporter: () => this.#connection,
    });
    const shared = {
      ...options,
      connections: this.connections,
      limits: options.limits.sync,
      onReferencesChange: this.#onReferencesChange.bind(this),
      provesUse: options.restarts.auto,
    };
    const access = new ClusterAccess({ connections: resources, namespaces: namespaces?.store });
    const freezes = new Freezes({
      configMaps: reflectors.freezes.store,
      namespaces: namespaces?.store,
      namespace: options.namespace,
    });
    const synced = resourcesByKind(reflectors, this.#views);
    const all = resourcesByKind(options.cluster, this.#views);
    this.#sync = new Syncs({ ...shared, resources: synced, access, freezes });
    const { kinds } = this.#sync;
    const parse = (kind: SyncKind, object: KubeObject): ParsedResource =>
      kinds[kind].source.parse(object);
    const targets = { Secret: reflectors.targetSecrets, ConfigMap: reflectors.targetConfigMaps };
    this.#push = new Pushes({
      ...reflectors,
      ...shared,
      readers: all,
      sources: forEachKind((kind) => kinds[kind].source),
      guard: options.fence,
    });
    this.#fanOut = new FanOutController({
      ...options,
      objects: synced,
      parse,
    });
    this.#connectionReconciler = new ConnectionReconciler({
      ...options,
      resources,
      connections: this.connections,
      usersOf: (key) => this.usersOf(key),
      referencesOf: (key) => this.#referencesOf(key),
    });
    this.#connection = new ConnectionController({
      ...options,
      limits: options.limits.connections,
      resources,
      reconciler: this.#connectionReconciler,
    });
    const { workloads, ...restarts } = options.restarts;
    this.#convergence = new ConvergenceController({
      ...options,
      ...restarts,
      resources: synced,
      watches: workloads,
    });
    this.#restart = new RestartController({
      ...options,
      ...restarts,
      resources: withShownTargets(all, parse, targets),
      watches: workloads,
    });
  }

  /**
   * Passes the current objects and all later changes to the controllers, until the returned handle
   * is disposed.
   */
  subscribe(): Disposable {
    const { credentials, namespaces, freezes } = this.#options.reflectors;
    const stack = new DisposableStack();
    stack.use(
      replayAndSubscribe(this.#watchedConnections, (change) =>
        this.#connection.resourceChanged(change),
      ),
    );
    stack.use(this.#watchedConnections.onChange((change) => this.#onConnectionChange(change)));
    if (namespaces !== undefined)
      stack.use(namespaces.onChange((change) => this.#onNamespaceChange(change)));
    stack.use(freezes.onChange(() => this.#sync.controller.freezeChanged()));
    stack.use(this.#sync.subscribe());
    stack.use(
      credentials.onChange(({ key }) => this.#connectionReconciler.credentialsChanged(key)),
    );
    stack.use(this.#push.subscribe());
    stack.use(this.#restart.subscribe());
    stack.use(this.#convergence.subscribe());
    stack.use(this.#fanOut.subscribe());
    for (const reflector of Object.values({ ...this.#options.reflectors })) {
      if (reflector !== undefined) stack.use(reflector.onReconnect(() => this.#retryApiErrors()));
    }
    return stack;
  }

  /** Returns the work queues, by the names of their controllers. */
  get queues(): Readonly<Record<string, WorkQueue>> {
    return {
      VaultConnection: this.#connection.queue,
      sync: this.#sync.controller.queue,
      VaultPush: this.#push.controller.queue,
      restart: this.#restart.queue,
      convergence: this.#convergence.queue,
      "fan-out": this.#fanOut.queue,
    };
  }

  /** Runs until the signal is aborted and all running reconciles have ended. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#connection.run(signal),
      this.#sync.controller.run(signal),
      this.#push.controller.run(signal),
      this.#restart.run(signal),
      this.#convergence.run(signal),
      this.#fanOut.run(signal),
    ]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#pendingReferences.values()) timer[Symbol.dispose]();
    this.#views.dispose();
    return this.connections[Symbol.asyncDispose]();
  }

  /**
   * Checks the access of all namespaces again when the spec of a ClusterVaultConnection changed.
   */
  #onConnectionChange({ key, ...change }: StoreChange<KubeObject>): void {
    if (connectionKindOf(key) === "VaultConnection") return;
    const isSameSpec =
      change.type === "updated" &&
      change.before.metadata.uid === change.now.metadata.uid &&
      change.before.metadata.generation === change.now.metadata.generation;
    if (!isSameSpec) this.#sync.controller.accessChanged(key);
  }

  /** Checks the access of a namespace again when its labels changed, and its freeze. */
  #onNamespaceChange(change: StoreChange<NamespaceFacts>): void {
    const { key: namespace } = change;
    if (isOtherFreeze(change)) this.#sync.controller.freezeChanged(namespace);
    if (change.type === "updated" && isDeepStrictEqual(change.before.labels, change.now.labels))
      return;
    for (const connection of this.#options.reflectors.clusterConnections?.store.keys() ?? []) {
      this.#sync.controller.accessChanged(connection, namespace);
    }
  }

  /** Requeues what failed while the API server was unavailable. */
  #retryApiErrors(): void {
    for (const queue of Object.values(this.queues)) queue.forgive("api");
  }

  /** Returns the number of resources that refer to a connection. */
  usersOf(connection: string): number {
    return (
      this.#sync.controller.references.ofConnection(connection).size +
      this.#push.controller.usersOf(connection)
    );
  }

  #referencesOf(connection: string): References {
    const { references } = this.#sync.controller;
    const push = this.#push.controller;
    return {
      secrets: new Set([
        ...references.sourcesOf(connection, "secret"),
        ...push.namesOf(connection, "secret"),
      ]),
      files: new Set([
        ...references.sourcesOf(connection, "file"),
        ...push.namesOf(connection, "file"),
      ]),
    };
  }

  /** The controllers of the resources that use connections. */
  get #users(): ConnectionUsers {
    const [sync, push] = [this.#sync.controller, this.#push.controller];
    return {
      onSnapshotChange: (key, change, listedAt) => {
        sync.onSnapshotChange(key, change, listedAt);
        push.onSnapshotChange(key, change);
      },
      onProven: sync.onProven.bind(sync),
      onConnectionStateChange: (key, list) => {
        sync.onConnectionStateChange(key, list);
        push.onConnectionStateChange(key);
      },
      mayRemoveEntries: (key) => push.mayRemoveEntries(key),
      removalFactsOf: (...connection) => sync.removalFactsOf(...connection),
    };
  }

  /**
   * Passes the references of the resources to the client, once for all changes within a short time:
   * a bulk change costs one list.
   */
  #onReferencesChange(connection: string, joined?: JoinedNames): void {
    this.connections.referencesChanged(connection, joined);
    this.#connection.usersChanged(connection);
    if (this.#pendingReferences.has(connection)) return;
    const timer = this.#options.clock.timer(REFERENCES_DELAY_MS, () => {
      this.#pendingReferences.delete(connection);
      this.connections.client(connection)?.setReferences(this.#referencesOf(connection));
    });
    this.#pendingReferences.set(connection, timer);
  }
}

/** Reports whether the freeze of a namespace begins, changes or ends. */
function isOtherFreeze(change: StoreChange<NamespaceFacts>): boolean {
  const before = change.type === "added" ? undefined : change.before.freeze;
  const now = change.type === "deleted" ? undefined : change.now.freeze;
  return !isDeepStrictEqual(before, now);
}
