import type { ControllerParts, ReconcilerParts } from "../outcome/parts.ts";
import { type WorkloadKind, workloadKinds } from "../../api/rollout-restart.ts";
import { type Watched, replayAndSubscribe } from "../../kube/cache/filtered-view.ts";
import { type KubeObject, namespaceOf } from "../../kube/resource.ts";
import { runController } from "../../runtime/controller.ts";
import { QueueLimits } from "../../runtime/queue-limits.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { fansOut, forEachKind, SYNC_KINDS, type SyncKind, syncKey } from "../../sync/sync-key.ts";
import type { WorkloadWatch } from "../restart/workload-watch.ts";
import { ConvergenceReconciler } from "./convergence-reconciler.ts";
import { PendingChanges } from "./pending-changes.ts";

export interface ConvergenceControllerOptions extends ControllerParts, ReconcilerParts {
  readonly resources: Readonly<Record<SyncKind, Watched<KubeObject>>>;
  readonly watches: Readonly<Record<WorkloadKind, WorkloadWatch>>;
  /** The operator sees the workloads. Without it no resource gets the condition. */
  readonly auto: boolean;
  /** Time in milliseconds within which a kubelet renews a volume. */
  readonly volumeSyncMs: number;
}

/** Time in milliseconds from a change to the first list: changes of several targets share it. */
const FIRST_MS = 5_000;
/** Minimum time in milliseconds between a change of a workload and the list that follows it. */
const WORKLOAD_MS = 5_000;
/** Namespaces whose pods are read simultaneously. */
const CONCURRENCY = 2;

/**
 * Shows in the condition Converged which resources have pods with older content; see
 * docs/adr/0016-proof-of-use.md. The keys of its queue are namespaces: one list of pods serves all
 * changed targets of a namespace. Nothing is listed while nothing is pending.
 */
export class ConvergenceController {
  readonly queue: WorkQueue;
  readonly #options: ConvergenceControllerOptions;
  readonly #pending: PendingChanges;
  readonly #reconciler: ConvergenceReconciler;

  constructor(options: ConvergenceControllerOptions) {
    const { clock, random, resources } = options;
    this.#options = options;
    const limits = new QueueLimits(clock, CONCURRENCY);
    this.queue = new WorkQueue({ clock, random, turnOf: (namespace) => namespace, limits });
    this.#pending = new PendingChanges(clock);
    this.#reconciler = new ConvergenceReconciler({
      ...options,
      resources: forEachKind((kind) => resources[kind].store),
      pending: this.#pending,
    });
  }

  /** Follows the current objects and all later changes, until the returned handle is disposed. */
  subscribe(): Disposable {
    const { resources, watches, auto } = this.#options;
    const stack = new DisposableStack();
    if (!auto) return stack;
    // The status of a resource for several namespaces does not show their pods.
    for (const kind of SYNC_KINDS.filter((one) => !fansOut(one))) {
      stack.use(
        replayAndSubscribe(resources[kind], (change) => {
          const object = change.type === "deleted" ? undefined : change.now;
          this.#observe(syncKey(kind, change.key), object);
        }),
      );
    }
    for (const kind of workloadKinds)
      stack.use(watches[kind].onChange(({ key }) => this.#workloadChanged(namespaceOf(key))));
    return stack;
  }

  /** Runs until the signal is aborted and all running reconciles have ended. */
  run(signal: AbortSignal): Promise<void> {
    const { resyncMs, clock, logger, observer } = this.#options;
    return runController({
      name: "convergence",
      queue: this.queue,
      reconcile: this.#reconciler.reconcile.bind(this.#reconciler),
      resync: { everyMs: resyncMs, keys: () => this.#pending.namespaces() },
      clock,
      logger,
      observer,
      signal,
    });
  }

  #observe(key: string, object: KubeObject | undefined): void {
    if (object === undefined) this.#reconciler.forget(key);
    if (!this.#pending.observe(key, object)) return;
    this.queue.addAfter(namespaceOf(key.slice(key.indexOf("/") + 1)), FIRST_MS);
  }

  /** A rollout ends with a change of its workload. */
  #workloadChanged(namespace: string): void {
    if (this.#pending.in(namespace).size > 0) this.queue.addAfter(namespace, WORKLOAD_MS);
  }
}
