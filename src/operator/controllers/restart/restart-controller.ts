import type { ControllerParts, ReconcilerParts } from "../outcome/parts.ts";
import { type WorkloadKind, workloadKinds } from "../../api/rollout-restart.ts";
import { type Watched, replayAndSubscribe } from "../../kube/cache/filtered-view.ts";
import type { StoreChange } from "../../kube/cache/object-store.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { type ControllerObserver, runController } from "../../runtime/controller.ts";
import { QueueLimits } from "../../runtime/queue-limits.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { forEachKind, type SyncKind, SYNC_KINDS, syncKey } from "../../sync/sync-key.ts";
import { RestartEvents } from "./restart-events.ts";
import { RestartIndex, restartSource, type RestartSource, shownBy } from "./restart-index.ts";
import { RestartPace } from "./restart-pace.ts";
import { type RestartObserver, RestartReconciler } from "./restart-reconciler.ts";
import { RestartStatuses } from "./restart-statuses.ts";
import { parseWorkloadKey, workloadKey, type WorkloadMetadata } from "./workload.ts";
import type { WorkloadWatch } from "./workload-watch.ts";

export interface RestartControllerOptions extends ControllerParts, ReconcilerParts {
  /** All resources, of every shard: a workload may use the content of several. */
  readonly resources: Readonly<Record<SyncKind, Watched<KubeObject>>>;
  readonly watches: Readonly<Record<WorkloadKind, WorkloadWatch>>;
  /**
   * Reports whether the shard of this controller is responsible for the workloads of a namespace.
   * They share a limit.
   */
  readonly isResponsible: (namespace: string) => boolean;
  /** Duration of the quiet window in milliseconds. */
  readonly windowMs: number;
  /** Restarts workloads that have the annotation `auto`. */
  readonly auto: boolean;
  readonly observer: ControllerObserver & RestartObserver;
}

/**
 * Delay in milliseconds after a change of a resource: changes of several resources share one
 * reconcile.
 */
const CHANGES_DELAY_MS = 500;
/** Namespaces whose workloads are reconciled simultaneously. */
const CONCURRENCY = 4;

const turnOf = (key: string): string => parseWorkloadKey(key).namespace;

/** Maps changes of resources and workloads to workloads, the keys of its work queue. */
export class RestartController {
  readonly queue: WorkQueue;
  readonly #options: RestartControllerOptions;
  readonly #index: RestartIndex;
  readonly #statuses: RestartStatuses;
  readonly #reconciler: RestartReconciler;

  constructor(options: RestartControllerOptions) {
    const { clock, random, resources } = options;
    this.#options = options;
    // One workload of a namespace at a time: the status of one resource may show several of them.
    const limits = new QueueLimits(clock, CONCURRENCY);
    this.queue = new WorkQueue({ clock, random, turnOf, capOf: turnOf, maxInFlight: 1, limits });
    const stores = forEachKind((kind) => resources[kind].store);
    this.#index = new RestartIndex(stores);
    this.#statuses = new RestartStatuses({ ...options, resources: stores, index: this.#index });
    const events = new RestartEvents({ ...options, resources: stores });
    const pace = new RestartPace(clock, (key) => this.#add(key));
    this.#reconciler = new RestartReconciler({
      ...options,
      index: this.#index,
      statuses: this.#statuses,
      events,
      pace,
    });
  }

  /** Follows the current objects and all later changes, until the returned handle is disposed. */
  subscribe(): Disposable {
    const { resources, watches, auto } = this.#options;
    const stack = new DisposableStack();
    for (const kind of workloadKinds) {
      const watch = watches[kind];
      if (auto) watch.demand();
      stack.use(replayAndSubscribe(watch, (change) => this.#workloadChanged(kind, change)));
      stack.use(watch.onStateChange(() => this.#addAll(kind)));
      stack.use(watch.onReconnect(() => this.queue.forgive("api")));
    }
    for (const kind of SYNC_KINDS) {
      const watched = resources[kind];
      for (const [key, now] of watched.store.entries())
        this.#resourceChanged(kind, { type: "added", key, now });
      stack.use(watched.onChange((change) => this.#resourceChanged(kind, change)));
    }
    for (const kind of workloadKinds) this.#addAll(kind);
    return stack;
  }

  /** Runs until the signal is aborted and all running reconciles have ended. */
  run(signal: AbortSignal): Promise<void> {
    const { resyncMs, clock, logger, observer } = this.#options;
    return runController({
      name: "restart",
      queue: this.queue,
      reconcile: this.#reconciler.reconcile.bind(this.#reconciler),
      resync: { everyMs: resyncMs, keys: () => this.#keys() },
      clock,
      logger,
      observer,
      signal,
    });
  }

  #resourceChanged(kind: SyncKind, change: StoreChange<KubeObject>): void {
    const key = syncKey(kind, change.key);
    const before = change.type === "added" ? undefined : restartSource(kind, change.before);
    const now = change.type === "deleted" ? undefined : restartSource(kind, change.now);
    if (JSON.stringify(before) === JSON.stringify(now)) return;
    const affected = new Set(before === undefined ? [] : this.#workloadsOf(before));
    this.#index.replace(key, before, now);
    if (now === undefined) this.#statuses.forget(key);
    else {
      for (const reference of now.references) this.#options.watches[reference.kind].demand();
      for (const workload of this.#workloadsOf(now)) affected.add(workload);
    }
    for (const workload of affected) this.#add(workload, CHANGES_DELAY_MS);
  }

  #workloadChanged(kind: WorkloadKind, change: StoreChange<WorkloadMetadata>): void {
    const key = workloadKey(kind, change.key);
    const metadata = change.type === "deleted" ? undefined : change.now;
    this.#reconciler.changed(key);
    if (this.#concerns(key, metadata)) this.#add(key);
  }

  /** Reports whether there may be something to do about a workload. */
  #concerns(key: string, metadata: WorkloadMetadata | undefined): boolean {
    const { auto } = this.#options;
    if (this.#index.naming(key).size > 0 || this.#index.showing(key).size > 0) return true;
    if (metadata === undefined) return false;
    if (this.#index.selecting(parseWorkloadKey(key)).size > 0) return true;
    return (auto && metadata.auto) || metadata.state !== undefined;
  }

  #workloadsOf(source: RestartSource): string[] {
    const { namespace, references, target } = source;
    const { watches } = this.#options;
    const workloads = [
      ...shownBy(source),
      ...(target === undefined ? [] : this.#reconciler.pods.usersOf(target)),
    ];
    for (const { kind, name, selector } of references) {
      if (name !== undefined) workloads.push(workloadKey(kind, `${namespace}/${name}`));
      if (selector === undefined) continue;
      const wanted = Object.entries(selector.matchLabels);
      for (const [objectKey, { labels }] of watches[kind].store.entries()) {
        const isSelected =
          objectKey.startsWith(`${namespace}/`) &&
          wanted.every(([label, value]) => labels[label] === value);
        if (isSelected) workloads.push(workloadKey(kind, objectKey));
      }
    }
    return workloads;
  }

  /** Queues all workloads of a kind that concern a resource. */
  #addAll(kind: WorkloadKind): void {
    for (const key of this.#keys()) if (key.startsWith(`${kind}/`)) this.#add(key);
  }

  #add(key: string, delayMs = 0): void {
    if (this.#options.isResponsible(turnOf(key))) this.queue.addAfter(key, delayMs, "drift");
  }

  /** Returns the workloads that concern a resource, existing or not. */
  *#keys(): Generator<string> {
    const { watches, isResponsible } = this.#options;
    const keys = new Set<string>(this.#index.named());
    for (const kind of workloadKinds) {
      for (const [objectKey, metadata] of watches[kind].store.entries()) {
        const key = workloadKey(kind, objectKey);
        if (this.#concerns(key, metadata)) keys.add(key);
      }
    }
    for (const key of keys) if (isResponsible(turnOf(key))) yield key;
  }
}
