import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { StoreChange } from "../../kube/cache/object-store.ts";
import { type ControllerObserver, runController } from "../../runtime/controller.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { namespaceOf } from "../sync/reference-index.ts";
import type { ConnectionReconciler } from "./connection-reconciler.ts";

export interface ConnectionControllerOptions {
  readonly reconciler: ConnectionReconciler;
  /** How many resources at once. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly observer: ControllerObserver;
}

/** News of a connection within this time share one look, and so one status. Milliseconds. */
const NEWS_MS = 250;
/** A thousand resources applied at once change the number of users a thousand times. */
const USERS_MS = 1_000;

/** Turns what happens to connections into keys to look at. */
export class ConnectionController {
  readonly #options: ConnectionControllerOptions;
  readonly #queue: WorkQueue;

  constructor(options: ConnectionControllerOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({ clock: options.clock, random: options.random, groupOf: namespaceOf });
  }

  resourceChanged(change: StoreChange<KubeObject>): void {
    const isOurs =
      change.type === "updated" &&
      change.before.metadata.generation === change.now.metadata.generation &&
      change.before.metadata.uid === change.now.metadata.uid &&
      change.before.metadata.deletionTimestamp === change.now.metadata.deletionTimestamp;
    if (!isOurs) this.#queue.add(change.key, "spec");
  }

  /** The status of the connection may have news. */
  news(key: string): void {
    this.#queue.addAfter(key, NEWS_MS, "vault");
  }

  /** Other resources use the connection now. */
  usersChanged(key: string): void {
    this.#queue.addAfter(key, USERS_MS, "background");
  }

  run(signal: AbortSignal): Promise<void> {
    const { reconciler, concurrency, clock, logger, observer } = this.#options;
    const reconcile = reconciler.reconcile.bind(reconciler);
    return runController({
      name: "VaultConnection",
      queue: this.#queue,
      reconcile,
      concurrency,
      clock,
      logger,
      observer,
      signal,
    });
  }
}
