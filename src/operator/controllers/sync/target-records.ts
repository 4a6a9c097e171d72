import type { Clock } from "../../../lib/clock.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { Watched } from "../../kube/cache/filtered-view.ts";
import type { StoreChange } from "../../kube/cache/object-store.ts";
import type { KeyState } from "../../sync/review-content.ts";
import { isMerged, type SyncResource, type TargetKind } from "../../sync/sync-resource.ts";
import type { ReadyCondition } from "../../sync/ready-condition.ts";
import type { SyncStatus } from "../../sync/stored-status.ts";
import { isOwnedBy, type TargetMetadata, type TargetState } from "../../sync/target.ts";
import type { Priority } from "../../runtime/ready-keys.ts";
import { isAheadOfWatch, type OwnWrite, type Versioned } from "../outcome/own-writes.ts";
import { repairDelay } from "../outcome/repair-count.ts";
import { mayOwn, ownedNames, TARGET_KINDS } from "./owned-names.ts";
import { afterRepair, type Repairs } from "./repairs.ts";
import { keyOfTarget } from "./target-keys.ts";
import { targetMetadata } from "./target-metadata.ts";
import { UnseenWrites } from "./unseen-writes.ts";

type Target = Pick<SyncResource["target"], "kind" | "name">;

const isSameTarget = (one: Target, other: Target): boolean =>
  one.kind === other.kind && one.name === other.name;

type Keys = ReadonlyMap<string, KeyState>;

/** A state of a target, and its properties that are neither content nor metadata. */
interface Verified extends Versioned {
  readonly type: string | undefined;
  readonly immutable: boolean;
  /** The entries of {@link Keys} as JSON: it takes a quarter of the memory. */
  readonly keys: string | undefined;
}

const isOfForm = ({ type, immutable }: Verified, { target, policy }: SyncResource): boolean =>
  type === target.type && immutable === policy.immutable;

/**
 * Knowledge of this process about one target in addition to the watch: identities and digests,
 * never content.
 */
interface TargetRecord {
  /** The last write that the watch has not shown yet. */
  ownWrite?: OwnWrite<TargetMetadata> | undefined;
  /**
   * The last state whose content is known to match its annotations and this form; its keys, if the
   * content was read or written.
   */
  verified?: Verified | undefined;
  /** The object as of its last look-up, if no watch shows it. */
  lookedUp?: TargetMetadata | undefined;
  repairs?: Repairs | undefined;
  /** Another writer deleted the target: creating it again is a repair. */
  wasDeleted?: boolean;
}

/** A write in flight, and the newest state that the watch has shown since it began. */
interface InFlight {
  shown?: Versioned | undefined;
}

const isState = (one: Versioned | undefined, { uid, resourceVersion }: Versioned): boolean =>
  one?.uid === uid && one.resourceVersion === resourceVersion;

export interface TargetRecordsOptions {
  readonly watched: Readonly<
    Record<TargetKind, Pick<Watched<TargetMetadata>, "store" | "read" | "written" | "forget">>
  >;
  /** The objects that resources merge keys into, of the kinds that are watched. */
  readonly merged?: Partial<Readonly<Record<TargetKind, Pick<Watched<TargetMetadata>, "store">>>>;
  readonly clock: Clock;
  /**
   * Called with the key of a target whose write the watch has not shown in time, or that another
   * change was shown of during a write.
   */
  readonly requeue: (key: string, priority: Priority) => void;
}

/** A target that a resource does not name any more, as a target of that resource. */
export interface FormerTarget {
  readonly former: SyncResource;
  readonly metadata: TargetMetadata;
}

/** The targets: what the watch shows, and what this process wrote, verified and repaired since. */
export class TargetRecords {
  readonly #options: TargetRecordsOptions;
  readonly #records = new Map<string, TargetRecord>();
  readonly #inFlight = new Map<string, InFlight>();
  readonly #unseen: UnseenWrites;

  constructor(options: TargetRecordsOptions) {
    this.#options = options;
    this.#unseen = new UnseenWrites(options.clock, (key) => options.requeue(key, "background"));
  }

  /** Number of targets about which more is known than the watch shows. */
  get size(): number {
    return this.#records.size;
  }

  /** Returns the newest known metadata of the target; `undefined` if there is no such object. */
  metadata(resource: SyncResource): TargetMetadata | undefined {
    const { namespace, target } = resource;
    const { watched, merged } = this.#options;
    const store = (isMerged(resource) ? merged : watched)?.[target.kind]?.store;
    return this.#newest(keyOfTarget(resource), store?.get(`${namespace}/${target.name}`));
  }

  /** Returns the same, also of an object that no watch shows: as of its last look-up. */
  lastMetadata(resource: SyncResource): TargetMetadata | undefined {
    return this.metadata(resource) ?? this.#records.get(keyOfTarget(resource))?.lookedUp;
  }

  /** Records an object that was looked up. */
  recordLookUp(resource: SyncResource, metadata: TargetMetadata): void {
    if (!this.isWatched(resource)) this.#record(resource).lookedUp = metadata;
  }

  /** Reports whether a watch shows the target of a resource while it has the label. */
  isWatched(resource: SyncResource): boolean {
    return !isMerged(resource) || this.#options.merged?.[resource.target.kind] !== undefined;
  }

  /**
   * Returns the objects that belong to a resource and are not its target. Without a watch, those
   * that were read.
   */
  formers(resource: SyncResource): FormerTarget[] {
    return this.#owned(resource, (target) => !isSameTarget(target, resource.target));
  }

  /** Returns the objects that belong to a resource: its target, and former ones. */
  owned(resource: SyncResource): FormerTarget[] {
    return this.#owned(resource, () => true);
  }

  #owned(resource: SyncResource, includes: (target: Target) => boolean): FormerTarget[] {
    const { watched } = this.#options;
    const found = TARGET_KINDS.flatMap((kind) =>
      ownedNames(watched, resource, kind).map((name) => ({ kind, name, type: undefined })),
    );
    return found.filter(includes).flatMap((target) => {
      const policy = { ...resource.policy, creationPolicy: "Owner" } as const;
      const former: SyncResource = { ...resource, target, policy };
      const metadata = this.metadata(former);
      return metadata !== undefined && !metadata.deleting && isOwnedBy(former, metadata)
        ? [{ former, metadata }]
        : [];
    });
  }

  /** Reports whether there may be objects of a resource, by its key `<namespace>/<name>`. */
  mayHave(kind: SyncResource["kind"], objectKey: string): boolean {
    return mayOwn(this.#options.watched, kind, objectKey);
  }

  /**
   * Reads the target of a resource, the one that its status names, and those that were read
   * earlier, where no watch shows them (`--target-watch=off`). @throws KubeError
   */
  async readUnwatched(
    resource: SyncResource,
    shown: SyncStatus["target"],
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace, target } = resource;
    for (const kind of TARGET_KINDS) {
      const watched = this.#options.watched[kind];
      const named = [target, shown].flatMap((one) => (one?.kind === kind ? [one.name] : []));
      const known = ownedNames(this.#options.watched, resource, kind);
      for (const name of new Set([...named, ...known])) {
        // An object that the resource merges into is looked up.
        if (!isMerged(resource) || !isSameTarget({ kind, name }, target))
          await watched.read?.({ namespace, name }, signal);
      }
    }
  }

  /** Drops what was read of the targets of a deleted resource, and the record of what it merged. */
  stopReading(resource: SyncResource): void {
    const { namespace, target } = resource;
    if (isMerged(resource)) this.forget(keyOfTarget(resource));
    for (const kind of TARGET_KINDS) {
      const names = [
        ...ownedNames(this.#options.watched, resource, kind),
        ...(kind === target.kind ? [target.name] : []),
      ];
      for (const name of new Set(names)) this.#options.watched[kind].forget?.({ namespace, name });
    }
  }

  /**
   * Records that there is no such object, whatever this process wrote before. Its repairs still
   * count.
   */
  recordAbsence(resource: SyncResource): void {
    const key = keyOfTarget(resource);
    const { repairs, wasDeleted = false } = this.#records.get(key) ?? {};
    this.#unseen.delete(key);
    if (this.#records.has(key)) this.#records.set(key, { repairs, wasDeleted });
  }

  /**
   * Begins a write, until the returned handle is disposed. The watch may show the write before its
   * response arrives: until then `observe` reports no change of the object. Afterwards the target
   * is requeued, unless `recordWrite` found that the last change was the write.
   */
  beginWrite(resource: SyncResource): Disposable {
    const key = keyOfTarget(resource);
    const write: InFlight = { shown: undefined };
    this.#inFlight.set(key, write);
    return {
      [Symbol.dispose]: () => {
        if (this.#inFlight.get(key) === write) this.#inFlight.delete(key);
        if (write.shown !== undefined) this.#options.requeue(key, "drift");
      },
    };
  }

  /**
   * Records a write. `keys` is the content that it left: this content is verified. `undefined` if
   * admission changed the object. `isRepair`: it reverted a change of another writer. Returns the
   * recent repairs.
   */
  recordWrite(
    resource: SyncResource,
    object: KubeObject,
    keys: Keys | undefined,
    isRepair: boolean,
  ): Repairs | undefined {
    // Reads and writes are recorded: a former target is found even if no status names it yet.
    if (!isMerged(resource)) this.#options.watched[resource.target.kind].written?.(object);
    this.#recordWritten(resource, object, keys);
    const record = this.#record(resource);
    if (keys !== undefined) this.markVerified(resource, object.metadata, keys);
    if (isRepair || record.wasDeleted === true || keys === undefined) {
      record.repairs = afterRepair(
        resource,
        record.repairs,
        this.#options.clock.monotonic(),
        keys !== undefined,
      );
    }
    record.wasDeleted = false;
    return record.repairs;
  }

  /** Records that this process deleted the target. */
  recordDelete(resource: SyncResource, uid: string): void {
    this.#records.delete(keyOfTarget(resource));
    this.#recordOwn(resource, { deletedUid: uid });
  }

  /**
   * Records that the content of this state matches its annotations. `keys`: its content, if known.
   */
  markVerified(
    resource: SyncResource,
    { uid = "", resourceVersion = "" }: Partial<Versioned>,
    keys?: Keys,
  ): void {
    const { type } = resource.target;
    const { immutable } = resource.policy;
    this.#record(resource).verified = {
      uid,
      resourceVersion,
      type,
      immutable,
      keys: keys && JSON.stringify([...keys]),
    };
  }

  /** Makes the next reconcile read the content of the target. */
  distrust(resource: SyncResource): void {
    const record = this.#records.get(keyOfTarget(resource));
    if (record !== undefined) record.verified = undefined;
  }

  /** Reports whether the content of this state was found to match its annotations. */
  isVerified(resource: SyncResource, state: Versioned): boolean {
    const verified = this.#records.get(keyOfTarget(resource))?.verified;
    return verified !== undefined && isState(verified, state) && isOfForm(verified, resource);
  }

  /** Returns the keys that the target had when its content was verified last, if they are known. */
  verifiedKeys(resource: SyncResource): Keys | undefined {
    const keys = this.#records.get(keyOfTarget(resource))?.verified?.keys;
    return keys === undefined ? undefined : new Map<string, KeyState>(JSON.parse(keys));
  }

  repairs(resource: SyncResource): Repairs | undefined {
    return this.#records.get(keyOfTarget(resource))?.repairs;
  }

  /**
   * Returns why and for how long a repair of this state has to wait; `undefined` if it may be made
   * now.
   */
  repairWait(
    resource: SyncResource,
    state: TargetState,
  ): { readonly condition: ReadyCondition; readonly ms: number } | undefined {
    const repairs = this.repairs(resource);
    const ms = repairDelay(repairs, this.#options.clock.monotonic());
    if (repairs === undefined || ms === 0 || state.state === "foreign") return undefined;
    return state.state === "owned" && this.isVerified(resource, state)
      ? undefined
      : { condition: repairs.condition, ms };
  }

  /**
   * Records a change of the target with this key, once. Reports whether it is more than the echo of
   * an own write.
   */
  observe(key: string, change: StoreChange<TargetMetadata>): boolean {
    if (change.type === "deleted") return this.#observeDeleted(key, change.before.uid);
    const write = this.#inFlight.get(key);
    if (write !== undefined) {
      write.shown = change.now;
      return false;
    }
    // An own write that is shown after the lag limit is no echo: the target counted as what the
    // watch had shown before.
    const isAwaited = this.#unseen.has(key);
    const newest = this.#newest(key, change.now);
    return newest === undefined || !isAwaited || !isState(this.#records.get(key)?.verified, newest);
  }

  /** Drops the record of a target that no longer exists or that no resource names any more. */
  forget(key: string): void {
    this.#records.delete(key);
    this.#unseen.delete(key);
  }

  /** Forgets the echo of a write that the watch showed before the response. Returns whether it did. */
  #takeEcho(resource: SyncResource, { metadata }: KubeObject): boolean {
    const key = keyOfTarget(resource);
    const write = this.#inFlight.get(key);
    const { uid = "", resourceVersion = "" } = metadata;
    if (write === undefined || !isState(write.shown, { uid, resourceVersion })) return false;
    write.shown = undefined;
    this.#unseen.delete(key);
    return true;
  }

  #observeDeleted(key: string, uid: string): boolean {
    const record = this.#records.get(key);
    if (record === undefined) return true;
    const { ownWrite, repairs } = record;
    const isOwn = ownWrite !== undefined && "deletedUid" in ownWrite && ownWrite.deletedUid === uid;
    // The name already belongs to a newer object.
    if (ownWrite !== undefined && "wrote" in ownWrite && ownWrite.wrote.uid !== uid) return true;
    this.forget(key);
    if (!isOwn) this.#records.set(key, { repairs, wasDeleted: true });
    return !isOwn;
  }

  #record(resource: SyncResource): TargetRecord {
    const key = keyOfTarget(resource);
    // Fields that are added later would take an array of their own.
    const record = this.#records.get(key) ?? {
      ownWrite: undefined,
      verified: undefined,
      repairs: undefined,
      wasDeleted: false,
    };
    this.#records.set(key, record);
    return record;
  }

  #recordWritten(resource: SyncResource, object: KubeObject, keys: Keys | undefined): void {
    const isGone = isMerged(resource) && keys?.size === 0;
    if (isGone) this.#recordOwn(resource, { deletedUid: object.metadata.uid ?? "" });
    else if (keys === undefined || !this.#takeEcho(resource, object))
      this.#recordOwn(resource, { wrote: targetMetadata(object) });
    else this.#record(resource).ownWrite = undefined;
  }

  #recordOwn(
    resource: SyncResource,
    write: { readonly wrote: TargetMetadata } | { readonly deletedUid: string },
  ): void {
    if (!this.isWatched(resource)) return;
    const key = keyOfTarget(resource);
    this.#record(resource).ownWrite = { at: this.#options.clock.monotonic(), ...write };
    this.#unseen.add(key);
  }

  #newest(key: string, watched: TargetMetadata | undefined): TargetMetadata | undefined {
    const record = this.#records.get(key);
    if (record?.ownWrite === undefined) return watched;
    if (!isAheadOfWatch(record.ownWrite, watched, this.#options.clock.monotonic())) {
      record.ownWrite = undefined;
      this.#unseen.delete(key);
      return watched;
    }
    return "wrote" in record.ownWrite ? record.ownWrite.wrote : undefined;
  }
}
