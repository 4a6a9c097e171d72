import { isMerged, type SyncResource, type TargetKind } from "../../sync/sync-resource.ts";
import { syncKey } from "../../sync/sync-key.ts";

/**
 * Returns the key of a target, `<kind>/<namespace>/<name>`, from the key of the object,
 * `<namespace>/<name>`.
 */
export function targetKey(kind: TargetKind, key: string): string {
  return `${kind}/${key}`;
}

/** Returns the key of what a resource, by its key in the queue, merges into an object. */
export const mergedKey = (object: string, resource: string): string => `${object} ${resource}`;

/**
 * Returns the key of the target of a resource. Each resource that merges into an object has a
 * separate key: what is known about the keys of one resource says nothing about the keys of
 * another.
 */
export function keyOfTarget(resource: SyncResource): string {
  const { kind, name, namespace, target } = resource;
  const object = targetKey(target.kind, `${namespace}/${target.name}`);
  return isMerged(resource) ? mergedKey(object, syncKey(kind, `${namespace}/${name}`)) : object;
}
