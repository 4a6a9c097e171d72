import { FIELD_MANAGER } from "../../api/names.ts";
import { isObject } from "../../../lib/is-object.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { ifFound } from "../../kube/kube-error.ts";
import type { KubeObject, ResourceDescriptor } from "../../kube/resource.ts";
import { bytesDigests, contentDigest, readContent } from "../../sync/content.ts";
import { mergeManager } from "../../sync/merged-claims.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import { targetState } from "../../sync/target.ts";
import { releasePatch } from "./release-target.ts";
import { renderMerge, type Rendering } from "./render-target.ts";
import { targetDescriptor, targetMetadata } from "./target-metadata.ts";
import type { TargetRecords } from "./target-records.ts";

export interface BecomeMergedOptions {
  readonly api: KubeApi;
  readonly targets: TargetRecords;
  readonly contentKey: Redacted<Uint8Array>;
}

/** Returns a resource with the policy that it had before it became `Merge`. */
const asOwner = (resource: SyncResource): SyncResource => ({
  ...resource,
  policy: { ...resource.policy, creationPolicy: "Owner" },
});

/**
 * Turns a target that belongs to a resource into an object that the resource has merged its keys
 * into, after its policy has become `Merge`. First the unchanged keys and what is known about them
 * are applied like merged keys; then the resource releases the rest, and only the merging manager
 * owns the keys. The bytes stay. If the process ends in between, the object is still a target, and
 * all of this is repeated. @throws KubeError, `Conflict` when the target has changed concurrently
 */
export async function becomeMerged(
  { api, targets, contentKey }: BecomeMergedOptions,
  resource: SyncResource,
  owner: ResourceDescriptor,
  signal: AbortSignal,
): Promise<void> {
  const descriptor = targetDescriptor[resource.target.kind];
  const ref = { namespace: resource.namespace, name: resource.target.name };
  const object = await ifFound(api.get(descriptor, ref, signal));
  const state = object && targetState(asOwner(resource), targetMetadata(object));
  if (object === undefined || state?.state !== "owned") return;
  const applied = renderMerge(
    mergedRendering(resource, owner, contentKey, { object, ...state }),
    state,
    true,
  );
  const { metadata } = await api.apply(
    descriptor,
    applied,
    { fieldManager: mergeManager(resource) },
    signal,
  );
  const current = await api.getMetadata(descriptor, ref, signal);
  const patch = releasePatch(resource, current.metadata);
  const managedFields = (current.metadata.managedFields ?? []).filter(
    (entry) => !isOwnEntry(entry),
  );
  const expected = { ...ref, uid: state.uid, resourceVersion: metadata.resourceVersion };
  await api.patch(descriptor, expected, { metadata: { ...patch.metadata, managedFields } }, signal);
  targets.recordDelete(asOwner(resource), state.uid);
}

/**
 * Reports whether an entry of `managedFields` is of the writes of whole targets: the keys would
 * belong to two managers.
 */
const isOwnEntry = (entry: unknown): boolean =>
  isObject(entry) && entry["manager"] === FIELD_MANAGER;

type Target = Extract<ReturnType<typeof targetState>, { readonly state: "owned" }> & {
  readonly object: KubeObject;
};

/**
 * Returns the keys of a target as merged ones. If a user edited them, their digest does not become
 * right.
 */
function mergedRendering(
  resource: SyncResource,
  owner: ResourceDescriptor,
  contentKey: Redacted<Uint8Array>,
  { object, synced, content: written = "", annotationsCorrupted }: Target,
): Rendering {
  const content = readContent(resource.target.kind, object);
  const keys = bytesDigests(contentKey, content);
  const type = typeof object["type"] === "string" ? object["type"] : undefined;
  const isTrusted =
    !annotationsCorrupted && contentDigest(contentKey, { type, keys, synced }) === written;
  const digest = isTrusted ? contentDigest(contentKey, { type: undefined, keys, synced }) : written;
  return { resource, owner, content, digest, synced };
}
