import type { ControllerParts } from "../outcome/parts.ts";
import type { EntryKind, SnapshotChange } from "../../vault-client/connection.ts";
import { fansOut, type SyncKind, parseSyncKey, SYNC_KINDS, syncKey } from "../../sync/sync-key.ts";
import {
  ACCEPT_ANNOTATION,
  APPROVE_ANNOTATION,
  FORCE_SYNC_ANNOTATION,
  HOLD_ANNOTATION,
} from "../../api/names.ts";
import { shared } from "../../lib/shared-strings.ts";
import { desiredStateChanged, type KubeObject, namespaceOf } from "../../kube/resource.ts";
import type { StoreChange } from "../../kube/cache/object-store.ts";
import { runController } from "../../runtime/controller.ts";
import { EditWindows } from "../../runtime/edit-windows.ts";
import type { QueueLimits } from "../../runtime/queue-limits.ts";
import type { Priority } from "../../runtime/ready-keys.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { connectionKey } from "../../api/connection-key.ts";
import { claimedNames, matchesName, metadataRule } from "../../sync/find-items.ts";
import type { SyncItem, SyncResource, TargetKind } from "../../sync/sync-resource.ts";
import { type TargetMetadata, targetState } from "../../sync/target.ts";
import { readStatus, reportedNames } from "../../sync/stored-status.ts";
import type { ClusterAccess } from "../connection/cluster-access.ts";
import type { ConnectionRegistry } from "../connection/connection-registry.ts";
import type { ConnectionUsers, JoinedNames, RemovalFacts } from "../connection/connection-users.ts";
import { MAX_WAIT_MS } from "../outcome/outcome.ts";
import { checkAccess } from "../../sync/namespace-access.ts";
import { ownerKeys } from "../../sync/owner-keys.ts";
import type { Propagations } from "./propagations.ts";
import { joinedNames, ReferenceIndex, type References } from "./reference-index.ts";
import { removalFactsOf } from "./removal-facts.ts";
import { resourceReader } from "./shown-resource.ts";
import { changedSinceSync, isObserved, type ListedVersions } from "./start-order.ts";
import { isPattern, patternReference } from "../../vault-client/pattern.ts";
import type { SyncedKind } from "./source-kind.ts";
import type { SyncReconciler } from "./sync-reconciler.ts";
import { mergedKey, targetKey } from "./target-keys.ts";
import type { TargetRecords } from "./target-records.ts";

export interface SyncControllerOptions extends ControllerParts {
  readonly kinds: Readonly<Record<SyncKind, SyncedKind>>;
  readonly reconciler: Pick<
    SyncReconciler,
    "reconcile" | "forget" | "statusRepairDelay" | "endReads"
  >;
  readonly access: Pick<ClusterAccess, "of">;
  readonly connections: Pick<ConnectionRegistry, "isStarting">;
  readonly targets: TargetRecords;
  readonly propagations: Propagations;
  /**
   * Called when the resources that refer to a connection, or the names that they refer to, change.
   */
  readonly onReferencesChange: (connection: string, joined?: JoinedNames) => void;
  readonly limits: QueueLimits;
}

/** Annotations of users that a reconcile follows. */
const ANNOTATIONS = [ACCEPT_ANNOTATION, APPROVE_ANNOTATION, FORCE_SYNC_ANNOTATION, HOLD_ANNOTATION];
/**
 * Maximum number of resources of one connection that are reconciled simultaneously; see
 * docs/design/engine.md#fairness.
 */
const MAX_IN_FLIGHT = 16;

/**
 * Maps changes of specs, targets and the vault to keys of the work queue that VaultSecrets and
 * VaultFiles share. It decides nothing: every key goes through the same reconcile; see
 * docs/design/engine.md#wake-ups.
 */
export class SyncController implements Omit<ConnectionUsers, "mayRemoveEntries"> {
  readonly references = new ReferenceIndex();
  readonly #options: SyncControllerOptions;
  readonly #edits: EditWindows;
  readonly #read: ReturnType<typeof resourceReader>;
  readonly queue: WorkQueue;

  constructor(options: SyncControllerOptions) {
    this.#options = options;
    this.#edits = new EditWindows(options.clock, options.random);
    this.#read = resourceReader(options.kinds, options.targets);
    this.queue = new WorkQueue({
      clock: options.clock,
      random: options.random,
      turnOf: (key) => namespaceOf(parseSyncKey(key).objectKey),
      capOf: (key) => this.references.get(key)?.connection,
      maxInFlight: MAX_IN_FLIGHT,
      limits: options.limits,
    });
  }

  /**
   * Queues a resource whose desired state or unknown status changed, and updates its references.
   */
  resourceChanged(kind: SyncKind, change: StoreChange<KubeObject>): void {
    const key = syncKey(kind, change.key);
    if (change.type === "deleted") {
      const { targets } = this.#options;
      const target = this.references.get(key)?.target;
      this.#options.reconciler.forget(key);
      this.#setReferences(key, undefined);
      // A namespace that is not selected any more is released first, with its former targets.
      if (this.#options.kinds[kind].unselected?.(change.key) === undefined)
        targets.stopReading(this.#options.kinds[kind].source.parse(change.before).resource);
      if (target !== undefined && this.references.ofTarget(target).size === 0)
        targets.forget(target);
      // The reconcile of an object that does not exist drops its deadline.
      return this.queue.add(key);
    }
    if (change.type === "updated" && !desiredStateChanged(change.before, change.now, ANNOTATIONS)) {
      const delay = this.#options.reconciler.statusRepairDelay(key, change.before, change.now);
      if (delay !== undefined) this.queue.addAfter(key, delay, "drift");
      return;
    }
    this.#setReferences(key, this.#referencesOf(kind, change.now));
    if (change.type === "updated") this.queue.addAfter(key, this.#edits.delay(key), "spec");
    else this.#add(key, isObserved(change.now) ? "background" : "spec");
  }

  /** Queues a namespace that a resource does not select, if the resource may have a target there. */
  unselected(kind: SyncKind, objectKey: string): void {
    if (this.#options.targets.mayHave(kind, objectKey))
      this.queue.add(syncKey(kind, objectKey), "background");
  }

  /**
   * Queues the resources of a target that was changed by anything but this process, or by one of
   * several resources, and the owner of one that it does not name any more.
   */
  targetChanged(kind: TargetKind, change: StoreChange<TargetMetadata>): void {
    const target = targetKey(kind, change.key);
    const resources = this.references.ofTarget(target);
    const isOthers = this.#options.targets.observe(target, change);
    const isDeleted = change.type === "deleted";
    // What this process deleted is done with.
    const owners =
      isDeleted && !isOthers ? [] : ownerKeys(change.key, isDeleted ? change.before : change.now);
    for (const owner of owners) if (this.#mayLeave(owner, target)) this.#add(owner, "drift");
    if (!isOthers && resources.size < 2) return;
    for (const key of resources) this.#add(key, "drift");
  }

  /**
   * Queues the resources of an object that keys are merged into, but not those whose own write the
   * change is.
   */
  mergedChanged(kind: TargetKind, change: StoreChange<TargetMetadata>): void {
    const object = targetKey(kind, change.key);
    for (const key of this.references.ofTarget(object)) {
      if (this.#options.targets.observe(mergedKey(object, key), change))
        this.queue.add(key, "drift");
    }
  }

  /**
   * Requeues the resources of a target, or the one that merges into it: the watch has not shown
   * their write in time, or showed another change during it.
   */
  requeueTarget(target: string, priority: Priority): void {
    const [object = "", merging] = target.split(" ");
    const resources = this.references.ofTarget(object);
    for (const key of resources)
      if (merging === undefined || merging === key) this.queue.add(key, priority);
  }

  /** Requeues a resource that waited for a list. */
  listEnded(key: string): void {
    this.queue.add(key, "spec");
  }

  /**
   * Requeues the resources that refer to a changed name of the vault, whose list arrived at
   * `listedAt` (monotonic).
   */
  onSnapshotChange(connection: string, { secrets, files }: SnapshotChange, listedAt: number): void {
    const keysOf = (entries: EntryKind, names: ReadonlySet<string>): string[] =>
      [...names].flatMap((name) => [...this.references.ofSource(connection, entries, name)]);
    const keys = [...keysOf("secret", secrets), ...keysOf("file", files)];
    this.#vaultChanged(new Set(keys), listedAt);
  }

  /**
   * Requeues the resources that refer to a name, by itself or by a pattern, of which a list that
   * arrived at `listedAt` (monotonic) proves that it is deleted.
   */
  onProven(
    connection: string,
    entries: EntryKind,
    names: ReadonlySet<string>,
    listedAt: number,
  ): void {
    const keys = [...names].flatMap((name) => [
      ...this.references.ofName(connection, entries, name),
    ]);
    this.#vaultChanged(new Set(keys), listedAt);
  }

  /**
   * Requeues all resources of a connection: it was opened or closed, listed for the first time,
   * became stale or recovered. Those that changed in the vault while no process worked on them come
   * first.
   */
  onConnectionStateChange(connection: string, list?: ListedVersions): void {
    // A copy, because replacing references changes the set.
    for (const key of new Set(this.references.ofConnection(connection))) {
      // A client that was opened since has to miss what rules found since the spec changed.
      if (list === undefined && this.references.get(key)?.sources.some(isPattern) === true)
        this.#referAgain(key);
      this.#add(
        key,
        list !== undefined && this.#changedSinceSync(key, list) ? "vault" : "background",
      );
    }
  }

  /**
   * Checks again what the resources of a connection may read: its access changed, or the labels of
   * `namespace`. Those that may not read their sources any more do not refer to them.
   */
  accessChanged(connection: string, namespace?: string): void {
    this.#options.reconciler.endReads(connection, namespace);
    // A copy, because replacing references changes the set.
    for (const key of new Set(this.references.ofConnection(connection))) {
      if (namespace !== undefined && namespaceOf(parseSyncKey(key).objectKey) !== namespace)
        continue;
      if (this.#referAgain(key)) this.queue.add(key, "background");
    }
  }

  /** Requeues all resources, or the ones in a namespace: a freeze begins, changes or ends. */
  freezeChanged(namespace?: string): void {
    for (const key of this.#keys()) {
      if (namespace === undefined || namespaceOf(parseSyncKey(key).objectKey) === namespace)
        this.#add(key, "background");
    }
  }

  /** Returns what the resources of a connection refer to and show. */
  removalFactsOf(connection: string, account: string): RemovalFacts {
    const { kinds } = this.#options;
    const { references } = this;
    return removalFactsOf({ account, references, kinds, read: this.#read }, connection);
  }

  /** Runs until the signal is aborted and all running reconciles have ended. */
  run(signal: AbortSignal): Promise<void> {
    const { reconciler, resyncMs, clock, logger, observer } = this.#options;
    return runController({
      name: "sync",
      queue: this.queue,
      reconcile: reconciler.reconcile.bind(reconciler),
      resync: { everyMs: resyncMs, keys: () => this.#keys() },
      clock,
      logger,
      observer,
      signal,
    });
  }

  /** Requeues each once: a key that is added while it is reconciled is reconciled again. */
  #vaultChanged(keys: ReadonlySet<string>, listedAt: number): void {
    for (const key of keys) {
      this.#options.propagations.changed(key, listedAt);
      this.queue.add(key, "vault");
    }
  }

  /**
   * Queues a resource, unless its reconcile could only wait for the first list of its connection:
   * what is known about the connection next requeues it.
   */
  #add(key: string, priority: Priority): void {
    const { needsList = false, connection = "" } = this.references.get(key) ?? {};
    if (needsList && this.#options.connections.isStarting(connection))
      this.queue.addAfter(key, MAX_WAIT_MS);
    else this.queue.add(key, priority);
  }

  /**
   * Reports whether a resource does not name an object as its target, although it may have been its
   * owner.
   */
  #mayLeave(owner: string, target: string): boolean {
    const named = this.references.get(owner)?.target;
    return named === undefined ? fansOut(parseSyncKey(owner).kind) : named !== target;
  }

  /** Returns the keys of all resources. */
  *#keys(): Generator<string> {
    for (const kind of SYNC_KINDS) {
      for (const [key] of this.#options.kinds[kind].resources.entries()) yield syncKey(kind, key);
    }
  }

  /** Returns `undefined` if the spec is invalid. */
  #referencesOf(kind: SyncKind, object: KubeObject): References | undefined {
    const { source } = this.#options.kinds[kind];
    const parsed = source.parse(object);
    if (!parsed.ok) return undefined;
    const { resource } = parsed;
    const connection = shared(connectionKey(resource.connection, resource.namespace));
    const grant = this.#options.access.of(connection, resource.namespace);
    const found = foundNames(kind, resource, object, this.#options.targets);
    const target = targetKey(resource.target.kind, `${resource.namespace}/${resource.target.name}`);
    const isAllowed = checkAccess(resource, source.entries, grant) === "allowed";
    const sources = [
      ...resource.items.map((item) => item.source),
      ...patternsOf(resource),
      ...found,
    ];
    const rules = resource.finds.filter((find) => metadataRule(find) !== undefined);
    const whenGone = shared(
      `${resource.whenRemoved} ${resource.whenMissing} ${resource.items.filter(isOptional).map(sourceOf).join(" ")}`,
    );
    return {
      kind,
      connection,
      sources: isAllowed ? sources : [],
      target,
      whenGone,
      needsList: isAllowed && !resource.suspend && resource.forceSync === undefined,
      ...(rules.length > 0 && { rules }),
    };
  }

  /**
   * Replaces the references of a resource by those that its object shows now. Returns whether there
   * is one.
   */
  #referAgain(key: string): boolean {
    const { kind, objectKey } = parseSyncKey(key);
    const object = this.#options.kinds[kind].resources.get(objectKey);
    if (object !== undefined) this.#setReferences(key, this.#referencesOf(kind, object));
    return object !== undefined;
  }

  #changedSinceSync(key: string, list: ListedVersions): boolean {
    const { kind, objectKey } = parseSyncKey(key);
    const object = this.#options.kinds[kind].resources.get(objectKey);
    return (
      object !== undefined &&
      changedSinceSync(kind, object, this.references.get(key)?.sources ?? [], list)
    );
  }

  #setReferences(key: string, now: References | undefined): void {
    const { onReferencesChange } = this.#options;
    const before = this.references.get(key);
    this.references.remove(key);
    if (now !== undefined) this.references.set(key, now);
    if (before !== undefined && now !== undefined && isSame(before, now)) return;
    if (before !== undefined && before.connection !== now?.connection)
      onReferencesChange(before.connection);
    if (now === undefined) return;
    const kind = this.#options.kinds[now.kind].source.entries;
    onReferencesChange(now.connection, { kind, names: joinedNames(before, now) });
  }
}

/** Reports whether a connection learns nothing new from changed references. */
const isSame = (before: References, now: References): boolean =>
  before.connection === now.connection &&
  before.target === now.target &&
  before.whenGone === now.whenGone &&
  before.sources.join("\n") === now.sources.join("\n");

const sourceOf = ({ source }: SyncItem): string => source;
const isOptional = (item: SyncItem): boolean => item.isOptional === true;
const patternsOf = ({ finds }: SyncResource): string[] =>
  finds.map(({ pattern }) => patternReference(pattern));

/**
 * Returns the names that the rules of a resource found, according to its status and to the claims
 * of its target: a status shows a limited number of names. After a restart, and to a new
 * connection, nothing else shows that one of them is gone.
 */
function foundNames(
  kind: SyncKind,
  resource: SyncResource,
  object: KubeObject,
  targets: Pick<TargetRecords, "lastMetadata">,
): string[] {
  const { finds } = resource;
  if (finds.length === 0) return [];
  const state = targetState(resource, targets.lastMetadata(resource));
  const names = new Set(reportedNames(readStatus(kind, object["status"])));
  if (state.state === "owned")
    for (const find of finds)
      for (const name of claimedNames(find, state.synced, () => false)) names.add(name);
  return [...names].filter((name) => finds.some((find) => matchesName(find, name)));
}
