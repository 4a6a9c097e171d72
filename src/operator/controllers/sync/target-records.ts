import type { Clock } from "../../../lib/clock.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { ReadonlyStore, StoreChange } from "../../kube/cache/object-store.ts";
import type { SyncResource, TargetKind } from "../../sync/sync-resource.ts";
import type { TargetMetadata } from "../../sync/target.ts";
import { isAheadOfWatch, type OwnWrite } from "../status/own-writes.ts";
import { targetMetadata } from "./target-metadata.ts";

/** Returns the key of a target, `<kind>/<namespace>/<name>`, from the key of the object, `<namespace>/<name>`. */
export function targetKey(kind: TargetKind, key: string): string {
  return `${kind}/${key}`;
}

const keyOfTarget = ({ namespace, target }: SyncResource): string => targetKey(target.kind, `${namespace}/${target.name}`);

interface StateId {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** What this process knows about one target in addition to the watch. Identities only, never content. */
interface TargetRecord {
  /** The last write that the watch has not shown yet. */
  ownWrite?: OwnWrite<TargetMetadata> | undefined;
  /** The last state whose content is known to match its annotations and this type. */
  verified?: (StateId & { readonly type: string | undefined }) | undefined;
}

const isState = (one: StateId | undefined, { uid, resourceVersion }: StateId): boolean =>
  one?.uid === uid && one.resourceVersion === resourceVersion;

/** The targets: what the watch shows, and what this process wrote and verified since. */
export class TargetRecords {
  readonly #stores: Readonly<Record<TargetKind, ReadonlyStore<TargetMetadata>>>;
  readonly #clock: Clock;
  readonly #records = new Map<string, TargetRecord>();

  constructor(stores: Readonly<Record<TargetKind, ReadonlyStore<TargetMetadata>>>, clock: Clock) {
    this.#stores = stores;
    this.#clock = clock;
  }

  /** Number of targets about which more is known than the watch shows. */
  get size(): number {
    return this.#records.size;
  }

  /** Returns the newest known metadata of the target; `undefined` if there is no such object. */
  metadata(resource: SyncResource): TargetMetadata | undefined {
    const { namespace, target } = resource;
    return this.#newest(keyOfTarget(resource), this.#stores[target.kind].get(`${namespace}/${target.name}`));
  }

  /** Records an object that was read because the watch does not show it: not yet, or because it lacks the operator's label. */
  recordRead(resource: SyncResource, object: KubeObject): void {
    this.#record(resource).ownWrite = { at: this.#clock.monotonic(), wrote: targetMetadata(object) };
  }

  /** Records that there is no such object. */
  recordAbsence(resource: SyncResource): void {
    this.forget(keyOfTarget(resource));
  }

  /** Records a written target, whose content is therefore verified. */
  recordWrite(resource: SyncResource, object: KubeObject): void {
    this.recordRead(resource, object);
    this.markVerified(resource, object);
  }

  /** Records that this process deleted the target. */
  recordDelete(resource: SyncResource, uid: string): void {
    this.#records.set(keyOfTarget(resource), { ownWrite: { at: this.#clock.monotonic(), deletedUid: uid } });
  }

  /** Records that the content of this state matches its annotations. */
  markVerified(resource: SyncResource, { metadata: { uid = "", resourceVersion = "" } }: KubeObject): void {
    this.#record(resource).verified = { uid, resourceVersion, type: resource.target.type };
  }

  /** Reports whether the content of this state was found to match its annotations. */
  isVerified(resource: SyncResource, state: StateId): boolean {
    const verified = this.#records.get(keyOfTarget(resource))?.verified;
    return isState(verified, state) && verified?.type === resource.target.type;
  }

  /** Takes in a change of the watch, once. Reports whether it is anything but the echo of an own write. */
  observe(kind: TargetKind, change: StoreChange<TargetMetadata>): boolean {
    const key = targetKey(kind, change.key);
    if (change.type === "deleted") {
      const write = this.#records.get(key)?.ownWrite;
      const isRecreated = write !== undefined && "wrote" in write && write.wrote.uid !== change.before.uid;
      if (!isRecreated) this.forget(key);
      return true;
    }
    const newest = this.#newest(key, change.now);
    return newest === undefined || !isState(this.#records.get(key)?.verified, newest);
  }

  /** Drops the record of a target that no longer exists or that no resource names any more. */
  forget(key: string): void {
    this.#records.delete(key);
  }

  #record(resource: SyncResource): TargetRecord {
    const key = keyOfTarget(resource);
    const record = this.#records.get(key) ?? {};
    this.#records.set(key, record);
    return record;
  }

  #newest(key: string, watched: TargetMetadata | undefined): TargetMetadata | undefined {
    const record = this.#records.get(key);
    if (record?.ownWrite === undefined) return watched;
    if (!isAheadOfWatch(record.ownWrite, watched, this.#clock.monotonic())) {
      record.ownWrite = undefined;
      return watched;
    }
    return "wrote" in record.ownWrite ? record.ownWrite.wrote : undefined;
  }
}
