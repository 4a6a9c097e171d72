import type { Clock } from "../../../lib/clock.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { ReadonlyStore, StoreChange } from "../../kube/cache/object-store.ts";
import type { SyncResource, TargetKind } from "../../sync/sync-resource.ts";
import type { TargetMetadata } from "../../sync/target.ts";
import { OwnWrites } from "../status/own-writes.ts";
import { targetMetadata } from "./target-metadata.ts";

/** Returns the key of a target, `<kind>/<namespace>/<name>`, from the key of the object, `<namespace>/<name>`. */
export function targetKey(kind: TargetKind, key: string): string {
  return `${kind}/${key}`;
}

const keyOfTarget = ({ namespace, target }: SyncResource): string => targetKey(target.kind, `${namespace}/${target.name}`);

/** Metadata of the targets: what the watch shows, and what this process wrote since. Never their content. */
export class TargetView {
  readonly #stores: Readonly<Record<TargetKind, ReadonlyStore<TargetMetadata>>>;
  readonly #ownWrites: OwnWrites<TargetMetadata>;
  readonly #verified = new VerifiedStates();

  constructor(stores: Readonly<Record<TargetKind, ReadonlyStore<TargetMetadata>>>, clock: Clock) {
    this.#stores = stores;
    this.#ownWrites = new OwnWrites(clock);
  }

  /** Returns the newest known metadata of the target; `undefined` if there is no such object. */
  metadata(resource: SyncResource): TargetMetadata | undefined {
    const { namespace, target } = resource;
    return this.#ownWrites.newest(keyOfTarget(resource), this.#stores[target.kind].get(`${namespace}/${target.name}`));
  }

  /** Records an object that was read because the watch does not show it: not yet, or because it lacks the operator's label. */
  recordRead(resource: SyncResource, object: KubeObject): void {
    this.#ownWrites.recordWrite(keyOfTarget(resource), targetMetadata(object));
  }

  /** Records that there is no such object. */
  recordAbsence(resource: SyncResource): void {
    this.#ownWrites.forget(keyOfTarget(resource));
  }

  /** Records a written target, whose content is therefore verified. */
  recordWrite(resource: SyncResource, object: KubeObject): void {
    this.recordRead(resource, object);
    this.markVerified(resource, object);
  }

  /** Records that this process deleted the target. */
  recordDelete(resource: SyncResource, uid: string): void {
    this.#ownWrites.recordDelete(keyOfTarget(resource), uid);
    this.#verified.forget(keyOfTarget(resource));
  }

  /** Records that the content of this state matches its annotations. */
  markVerified(resource: SyncResource, { metadata }: KubeObject): void {
    this.#verified.mark(keyOfTarget(resource), metadata.uid ?? "", metadata.resourceVersion ?? "", resource.target.type);
  }

  /** Reports whether the content of this state was found to match its annotations. */
  isVerified(resource: SyncResource, state: { readonly uid: string; readonly resourceVersion: string }): boolean {
    return this.#verified.has(keyOfTarget(resource), state.uid, state.resourceVersion, resource.target.type);
  }

  /** Takes in a change of the watch. Reports whether it is anything but the echo of an own write. */
  isExternalChange(kind: TargetKind, change: StoreChange<TargetMetadata>): boolean {
    const key = targetKey(kind, change.key);
    if (change.type === "deleted") {
      this.#ownWrites.forget(key);
      this.#verified.forget(key);
      return true;
    }
    const newest = this.#ownWrites.newest(key, change.now);
    return newest === undefined || !this.#verified.isState(key, newest.uid, newest.resourceVersion);
  }
}

/**
 * The last state of each target whose content is known to match its annotations, because this process wrote or read it.
 * Stores identities only, never content.
 */
export class VerifiedStates {
  readonly #states = new Map<string, { readonly state: string; readonly type: string | undefined }>();

  mark(target: string, uid: string, resourceVersion: string, type: string | undefined): void {
    this.#states.set(target, { state: `${uid}/${resourceVersion}`, type });
  }

  /** Reports whether this state was verified. */
  isState(target: string, uid: string, resourceVersion: string): boolean {
    return this.#states.get(target)?.state === `${uid}/${resourceVersion}`;
  }

  /** Reports whether this state was verified for a resource that requests this type. */
  has(target: string, uid: string, resourceVersion: string, type: string | undefined): boolean {
    return this.isState(target, uid, resourceVersion) && this.#states.get(target)?.type === type;
  }

  forget(target: string): void {
    this.#states.delete(target);
  }
}
