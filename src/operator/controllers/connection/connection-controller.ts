import type { ControllerParts } from "../outcome/parts.ts";
import { CONFIRM_REMOVALS_ANNOTATION } from "../../api/names.ts";
import { desiredStateChanged, type KubeObject, namespaceOf } from "../../kube/resource.ts";
import type { ReadonlyStore, StoreChange } from "../../kube/cache/object-store.ts";
import { runController } from "../../runtime/controller.ts";
import type { QueueLimits } from "../../runtime/queue-limits.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { ConnectionReconciler } from "./connection-reconciler.ts";
import type { ConnectionReporter } from "./connection-users.ts";
import { recordCircuitEvent } from "./record-connection-events.ts";

export interface ConnectionControllerOptions extends ControllerParts {
  readonly reconciler: ConnectionReconciler;
  readonly limits: QueueLimits;
  readonly resources: ReadonlyStore<KubeObject>;
  readonly events: EventRecorder;
}

/**
 * Delay in milliseconds within which status changes of a connection share one reconcile and one
 * status write.
 */
const STATUS_DELAY_MS = 250;
/**
 * Delay in milliseconds after a change in the number of users: applying a thousand resources
 * changes it a thousand times.
 */
const USERS_DELAY_MS = 1_000;

/** Maps changes of connections to keys of the work queue. */
export class ConnectionController implements ConnectionReporter {
  readonly #options: ConnectionControllerOptions;
  readonly queue: WorkQueue;

  constructor(options: ConnectionControllerOptions) {
    this.#options = options;
    const { clock, random, limits } = options;
    this.queue = new WorkQueue({ clock, random, turnOf: namespaceOf, limits });
  }

  /** Queues a connection whose spec or unknown status changed, or that was created or deleted. */
  resourceChanged(change: StoreChange<KubeObject>): void {
    if (
      change.type !== "updated" ||
      desiredStateChanged(change.before, change.now, [CONFIRM_REMOVALS_ANNOTATION])
    ) {
      return this.queue.add(change.key, "spec");
    }
    const delay = this.#options.reconciler.statusRepairDelay(change.key, change.before, change.now);
    if (delay !== undefined) this.queue.addAfter(change.key, delay, "drift");
  }

  /** Requeues a connection whose status may have changed. */
  statusChanged(key: string): void {
    this.queue.addAfter(key, STATUS_DELAY_MS, "vault");
  }

  circuitChanged(key: string, open: boolean): void {
    const { resources, events } = this.#options;
    const object = resources.get(key);
    if (object !== undefined) recordCircuitEvent(events, object, open);
  }

  /** Requeues a connection after a change of the resources that refer to it. */
  usersChanged(key: string): void {
    this.queue.addAfter(key, USERS_DELAY_MS, "background");
  }

  /** Runs until the signal is aborted and all running reconciles have ended. */
  run(signal: AbortSignal): Promise<void> {
    const { reconciler, resyncMs, resources, clock, logger, observer } = this.#options;
    const reconcile = reconciler.reconcile.bind(reconciler);
    return runController({
      name: "VaultConnection",
      queue: this.queue,
      reconcile,
      resync: { everyMs: resyncMs, keys: () => resources.keys() },
      clock,
      logger,
      observer,
      signal,
    });
  }
}
