import type { Clock } from "../../../lib/clock.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { ReadonlyStore, StoreChange } from "../../kube/cache/object-store.ts";
import type { SyncResource, TargetKind } from "../../sync/sync-resource.ts";
import type { TargetMetadata } from "../../sync/target.ts";
import { OwnWrites } from "../status/own-writes.ts";
import { targetMetadata } from "./target-metadata.ts";

/** `<kind>/<namespace>/<name>`: how an object that is, or could be, a target is named. */
export function targetKey(kind: TargetKind, key: string): string {
  return `${kind}/${key}`;
}

const keyOfTarget = ({ namespace, target }: SyncResource): string => targetKey(target.kind, `${namespace}/${target.name}`);

/** The operator's view of the targets: what the metadata watch shows, and what was written since. Never their content. */
export class TargetView {
  readonly #stores: Readonly<Record<TargetKind, ReadonlyStore<TargetMetadata>>>;
  readonly #ownWrites: OwnWrites<TargetMetadata>;
  readonly #verified = new VerifiedStates();

  constructor(stores: Readonly<Record<TargetKind, ReadonlyStore<TargetMetadata>>>, clock: Clock) {
    this.#stores = stores;
    this.#ownWrites = new OwnWrites(clock);
  }

  metadata(resource: SyncResource): TargetMetadata | undefined {
    const { namespace, target } = resource;
    return this.#ownWrites.newest(keyOfTarget(resource), this.#stores[target.kind].get(`${namespace}/${target.name}`));
  }

  /** An object that the watch does not show (yet, or because it lacks our label) was read. */
  saw(resource: SyncResource, object: KubeObject): void {
    this.#ownWrites.wrote(keyOfTarget(resource), targetMetadata(object));
  }

  /** There is no such object. */
  missed(resource: SyncResource): void {
    this.#ownWrites.forget(keyOfTarget(resource));
  }

  wrote(resource: SyncResource, object: KubeObject): void {
    this.saw(resource, object);
    this.verified(resource, object);
  }

  deleted(resource: SyncResource, uid: string): void {
    this.#ownWrites.deleted(keyOfTarget(resource), uid);
    this.#verified.forget(keyOfTarget(resource));
  }

  verified(resource: SyncResource, { metadata }: KubeObject): void {
    this.#verified.mark(keyOfTarget(resource), metadata.uid ?? "", metadata.resourceVersion ?? "", resource.target.type);
  }

  isVerified(resource: SyncResource, state: { readonly uid: string; readonly resourceVersion: string }): boolean {
    return this.#verified.has(keyOfTarget(resource), state.uid, state.resourceVersion, resource.target.type);
  }

  /** Takes in what the watch shows; answers whether it is anything but the echo of what this process wrote. */
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
 * Which state of which target was seen to hold what its annotations say: by the write that made it, or by reading it once.
 * Only identities are kept, never content.
 */
export class VerifiedStates {
  readonly #states = new Map<string, { readonly state: string; readonly type: string | undefined }>();

  mark(target: string, uid: string, resourceVersion: string, type: string | undefined): void {
    this.#states.set(target, { state: `${uid}/${resourceVersion}`, type });
  }

  /** Whether this state was seen, and seen to be right. */
  isState(target: string, uid: string, resourceVersion: string): boolean {
    return this.#states.get(target)?.state === `${uid}/${resourceVersion}`;
  }

  /** The same, for a resource that asks for this type. */
  has(target: string, uid: string, resourceVersion: string, type: string | undefined): boolean {
    return this.isState(target, uid, resourceVersion) && this.#states.get(target)?.type === type;
  }

  forget(target: string): void {
    this.#states.delete(target);
  }
}
