import type { ControllerParts } from "../outcome/parts.ts";
import { connectionKey } from "../../api/connection-key.ts";
import { FORCE_SYNC_ANNOTATION } from "../../api/names.ts";
import type { ReadonlyStore, StoreChange } from "../../kube/cache/object-store.ts";
import { desiredStateChanged, type KubeObject, namespaceOf } from "../../kube/resource.ts";
import { runController } from "../../runtime/controller.ts";
import type { QueueLimits } from "../../runtime/queue-limits.ts";
import { GroupIndex, type GroupNames } from "../../lib/groups.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import type { EntryKind, SnapshotChange } from "../../vault-client/connection.ts";
import type { SyncKind } from "../../sync/sync-key.ts";
import { parsePush } from "../../push/push-resource.ts";
import type { PushReconciler } from "./push-reconciler.ts";
import type { PushRivals } from "./push-rivals.ts";

export interface PushControllerOptions extends ControllerParts {
  readonly reconciler: Pick<PushReconciler, "reconcile" | "forget" | "statusRepairDelay">;
  readonly rivals: PushRivals;
  /** The VaultPushes of this shard. */
  readonly resources: ReadonlyStore<KubeObject>;
  /**
   * Called when the resources that refer to a connection, or the names that they refer to, change.
   */
  readonly onReferencesChange: (connection: string) => void;
  readonly limits: QueueLimits;
}

/**
 * Maximum number of VaultPushes of one connection that are reconciled simultaneously: reads of the
 * connection continue next to them.
 */
const MAX_IN_FLIGHT = 2;

const entryName = (connection: string, kind: EntryKind, name: string): string =>
  `${connection}\n${kind}\n${name}`;

/**
 * Maps changes of VaultPushes, of their rivals, their Secrets and the vault to keys of the work
 * queue. It decides nothing.
 */
export class PushController {
  readonly #options: PushControllerOptions;
  readonly #references = new Map<string, PushReferences>();
  readonly #index = new GroupIndex<"connection" | "entry">();
  readonly queue: WorkQueue;

  constructor(options: PushControllerOptions) {
    this.#options = options;
    const { clock, random, limits } = options;
    this.queue = new WorkQueue({
      clock,
      random,
      turnOf: namespaceOf,
      capOf: (key) => this.#references.get(key)?.connection,
      maxInFlight: MAX_IN_FLIGHT,
      limits,
    });
  }

  /**
   * Queues a resource of this shard whose desired state or unknown status changed, and updates its
   * references.
   */
  resourceChanged(change: StoreChange<KubeObject>): void {
    const { key } = change;
    if (change.type === "deleted") {
      this.#options.reconciler.forget(key);
      this.#setReferences(key, undefined);
      // The reconcile of an object that does not exist drops its deadline.
      return this.queue.add(key);
    }
    if (
      change.type === "updated" &&
      !desiredStateChanged(change.before, change.now, [FORCE_SYNC_ANNOTATION])
    ) {
      const delay = this.#options.reconciler.statusRepairDelay(key, change.before, change.now);
      if (delay !== undefined) this.queue.addAfter(key, delay, "drift");
      return;
    }
    this.#setReferences(key, change.now);
    this.queue.add(key, "spec");
  }

  /** Queues the resources that push to the same entries as a changed one of any shard. */
  rivalChanged(change: StoreChange<KubeObject>): void {
    this.#addOwn(this.#options.rivals.pushChanged(change));
  }

  /**
   * Queues the resources whose Secret is the target of a changed VaultSecret or VaultFile of any
   * shard.
   */
  readerChanged(kind: SyncKind, change: StoreChange<KubeObject>): void {
    this.#addOwn(this.#options.rivals.readerChanged(kind, change));
  }

  /**
   * Queues the resources of a Secret that a watch shows: one that is the target of another
   * resource.
   */
  secretChanged(secret: string): void {
    this.#addOwn(this.#options.rivals.ofSecret(secret));
  }

  /** Requeues a resource that waited for a list. */
  listEnded(key: string): void {
    this.queue.add(key, "vault");
  }

  /** Requeues the resources that push to a changed entry of the vault. */
  onSnapshotChange(connection: string, { secrets, files }: SnapshotChange): void {
    for (const name of secrets)
      this.#add(this.#index.get("entry", entryName(connection, "secret", name)), "vault");
    for (const name of files)
      this.#add(this.#index.get("entry", entryName(connection, "file", name)), "vault");
  }

  /** Requeues all resources of a connection. */
  onConnectionStateChange(connection: string): void {
    this.#add(this.#index.get("connection", connection), "background");
  }

  /** Returns the number of resources that refer to a connection. */
  usersOf(connection: string): number {
    return this.#index.get("connection", connection).size;
  }

  /** Reports whether the deletion of a resource of this connection deletes entries. */
  mayRemoveEntries(connection: string): boolean {
    return [...this.#index.get("connection", connection)].some(
      (key) => this.#references.get(key)?.deletes === true,
    );
  }

  /** Returns the names that the resources of a connection push to. */
  *namesOf(connection: string, kind: EntryKind): Generator<string> {
    for (const key of this.#index.get("connection", connection)) {
      for (const item of this.#references.get(key)?.items ?? [])
        if (item.kind === kind) yield item.name;
    }
  }

  /** Runs until the signal is aborted and all running reconciles have ended. */
  run(signal: AbortSignal): Promise<void> {
    const { reconciler, resources, resyncMs, clock, logger, observer } = this.#options;
    return runController({
      name: "VaultPush",
      queue: this.queue,
      reconcile: reconciler.reconcile.bind(reconciler),
      resync: { everyMs: resyncMs, keys: () => resources.keys() },
      clock,
      logger,
      observer,
      signal,
    });
  }

  #addOwn(keys: Iterable<string>): void {
    for (const key of keys) if (this.#options.resources.has(key)) this.queue.add(key, "drift");
  }

  #add(keys: Iterable<string>, priority: "vault" | "background"): void {
    for (const key of keys) this.queue.add(key, priority);
  }

  #setReferences(key: string, object: KubeObject | undefined): void {
    const before = this.#references.get(key);
    const now = object && referencesOf(object);
    if (now === undefined) this.#references.delete(key);
    else this.#references.set(key, now);
    this.#index.replace(key, namesOf(before), namesOf(now));
    if (JSON.stringify(before) === JSON.stringify(now)) return;
    for (const changed of new Set([before?.connection, now?.connection]))
      if (changed !== undefined) this.#options.onReferencesChange(changed);
  }
}

/** The connection of a VaultPush, and the entries that it pushes to. */
interface PushReferences {
  readonly connection: string;
  readonly items: readonly { readonly kind: EntryKind; readonly name: string }[];
  /** Its deletion deletes entries. */
  readonly deletes: boolean;
}

/** Returns `undefined` if the spec is invalid. */
function referencesOf(object: KubeObject): PushReferences | undefined {
  const parsed = parsePush(object);
  if (!parsed.ok) return undefined;
  const { connection, namespace, items, deletionPolicy } = parsed.resource;
  return {
    connection: connectionKey(connection, namespace),
    items: items.map(({ kind, name }) => ({ kind, name })),
    deletes: deletionPolicy === "Delete",
  };
}

function namesOf(references: PushReferences | undefined): GroupNames<"connection" | "entry"> {
  if (references === undefined) return [];
  const { connection, items } = references;
  return [
    ["connection", connection],
    ...items.map(({ kind, name }) => ["entry", entryName(connection, kind, name)] as const),
  ];
}
