import { ACCEPT_ANNOTATION } from "../../api/names.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import { type KubeObject, namespaceOf } from "../../kube/resource.ts";
import type { StoreChange } from "../../kube/cache/object-store.ts";
import { type ControllerObserver, runController } from "../../runtime/controller.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import type { Candidate } from "../../sync/resolve.ts";
import type { TargetKind } from "../../sync/sync-resource.ts";
import type { TargetMetadata } from "../../sync/target.ts";
import type { SnapshotChange } from "../../vault-client/connection.ts";
import { ReferenceIndex } from "./reference-index.ts";
import type { SourceKind } from "./source-kind.ts";
import type { SyncReconciler } from "./sync-reconciler.ts";
import { targetKey, type TargetView } from "./target-view.ts";

export interface SyncControllerOptions<C extends Candidate> {
  readonly kind: SourceKind<C>;
  readonly reconciler: SyncReconciler<C>;
  readonly targets: TargetView;
  /** Called when a resource starts or stops to refer to a connection. */
  readonly onReferencesChange: (connection: string) => void;
  /** Number of resources reconciled simultaneously. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly observer: ControllerObserver;
}

/**
 * Maps changes of specs, targets and the vault to keys of the work queue. It decides nothing: every key goes through the same
 * reconcile; see docs/design/engine.md#wake-ups.
 */
export class SyncController<C extends Candidate> {
  readonly references = new ReferenceIndex();
  readonly #options: SyncControllerOptions<C>;
  readonly #queue: WorkQueue;

  constructor(options: SyncControllerOptions<C>) {
    this.#options = options;
    const capOf = (key: string): string | undefined => this.references.get(key)?.connection;
    this.#queue = new WorkQueue({ clock: options.clock, random: options.random, turnOf: namespaceOf, capOf, maxInFlight: 4 });
  }

  get queueDepth(): number {
    return this.#queue.depth;
  }

  /** Queues a resource whose desired state changed, and updates its references. */
  resourceChanged(change: StoreChange<KubeObject>): void {
    const { key } = change;
    if (change.type === "deleted") {
      this.#options.reconciler.forget(key);
      this.#updateReferences(key, undefined);
      return;
    }
    if (change.type === "updated" && !desiredStateChanged(change.before, change.now)) return;
    this.#updateReferences(key, change.now);
    this.#queue.add(key, "spec");
  }

  /** Queues the resources of a target that was changed by anything but this process. */
  targetChanged(kind: TargetKind, change: StoreChange<TargetMetadata>): void {
    if (!this.#options.targets.isExternalChange(kind, change)) return;
    for (const resource of this.references.ofTarget(targetKey(kind, change.key))) this.#queue.add(resource, "drift");
  }

  /** Requeues the resources that refer to a changed name of the vault. */
  onSnapshotChange(connection: string, change: SnapshotChange): void {
    for (const source of this.#options.kind.changed(change)) {
      for (const resource of this.references.ofSource(connection, source)) this.#queue.add(resource, "vault");
    }
  }

  /** Requeues all resources of a connection: it was opened or closed, listed for the first time, became stale or recovered. */
  onConnectionStateChange(connection: string): void {
    for (const resource of this.references.ofConnection(connection)) this.#queue.add(resource, "background");
  }

  /** Runs until the signal is aborted and all running reconciles have ended. */
  run(signal: AbortSignal): Promise<void> {
    const { kind, reconciler, concurrency, clock, logger, observer } = this.#options;
    return runController({
      name: kind.descriptor.kind,
      queue: this.#queue,
      reconcile: (key, drainSignal) => reconciler.reconcile(key, drainSignal),
      concurrency,
      clock,
      logger,
      observer,
      signal,
    });
  }

  #updateReferences(key: string, object: KubeObject | undefined): void {
    const before = this.references.get(key);
    const parsed = object && this.#options.kind.parse(object);
    this.references.remove(key);
    if (parsed?.ok === true) {
      const { namespace, connection, items, target } = parsed.resource;
      this.references.set(key, {
        connection: `${namespace}/${connection}`,
        sources: items.map((item) => item.source),
        target: targetKey(target.kind, `${namespace}/${target.name}`),
      });
    }
    const now = this.references.get(key);
    if (before?.connection === now?.connection) return;
    if (before !== undefined) this.#options.onReferencesChange(before.connection);
    if (now !== undefined) this.#options.onReferencesChange(now.connection);
  }
}

/** Reports whether two states of a resource differ in anything but its status. */
function desiredStateChanged(before: KubeObject, now: KubeObject): boolean {
  return (
    before.metadata.uid !== now.metadata.uid ||
    before.metadata.generation !== now.metadata.generation ||
    before.metadata.annotations?.[ACCEPT_ANNOTATION] !== now.metadata.annotations?.[ACCEPT_ANNOTATION]
  );
}
