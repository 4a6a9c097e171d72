import {
  ADOPT_ANNOTATION,
  CONFIRM_REMOVALS_ANNOTATION,
  CONTENT_ANNOTATION,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  MERGE_DOMAIN,
  MERGED_LABEL,
  METADATA_ANNOTATION,
  OWNER_ANNOTATION,
  SOURCES_ANNOTATION,
  VERSIONS_ANNOTATION,
} from "../../api/names.ts";
import type { MergePatch } from "../../kube/client/kube-api.ts";
import {
  apiVersionOf,
  groupOf,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
  type ResourceDescriptor,
} from "../../kube/resource.ts";
import { byKey, type Content, renderContent } from "../../sync/content.ts";
import { formatManagedNames, managedNames } from "../../sync/managed-metadata.ts";
import { formatClaims, mergeAnnotation } from "../../sync/merged-claims.ts";
import { isDerived, type SyncResource } from "../../sync/sync-resource.ts";
import { type Claims, type SyncedKey, ownerName, formatSource } from "../../sync/target.ts";
import type { Versioned } from "../outcome/own-writes.ts";

/** Everything that a target is rendered from. */
export interface Rendering {
  readonly resource: SyncResource;
  /** Descriptor of the owning resource's kind. */
  readonly owner: ResourceDescriptor;
  /** The bytes of all keys; for a patch, of the changed keys at least. */
  readonly content: Content;
  readonly digest: string;
  readonly synced: Claims;
}

function ownerReference({ resource, owner }: Rendering): OwnerReference {
  return {
    apiVersion: apiVersionOf(owner),
    kind: owner.kind,
    name: resource.name,
    uid: resource.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/**
 * Formats one value per item as JSON, in a fixed order. `Object.fromEntries` keeps `__proto__`, a
 * valid key, as a member.
 */
function perKey(synced: Claims, fact: (value: SyncedKey) => string | number): string {
  return JSON.stringify(
    Object.fromEntries([...synced].sort(byKey).map(([key, value]) => [key, fact(value)])),
  );
}

function annotations({ resource, digest, synced }: Rendering): Record<string, string> {
  return {
    [OWNER_ANNOTATION]: ownerName(resource),
    [CONTENT_ANNOTATION]: digest,
    [VERSIONS_ANNOTATION]: perKey(synced, ({ version }) => version),
    [SOURCES_ANNOTATION]: perKey(synced, formatSource),
  };
}

/**
 * Returns the owners that others added, without controllers (an object has at most one) and deleted
 * resources of the same name.
 */
function foreignOwners(
  current: ObjectMeta | undefined,
  { resource, owner }: Rendering,
): OwnerReference[] {
  return (current?.ownerReferences ?? []).filter(
    ({ apiVersion, kind, name, controller }) =>
      controller !== true &&
      !(groupOf(apiVersion) === owner.group && kind === owner.kind && name === resource.name),
  );
}

/** Returns labels or annotations without those that the operator removes. */
function without(
  names: readonly string[],
  from: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => !names.includes(name)));
}

/**
 * Returns the labels and annotations of the target: those that the spec requests, and the ones that
 * others added to `current`.
 */
function managedMetadata(
  rendering: Rendering,
  current: ObjectMeta | undefined,
): Pick<ObjectMeta, "labels" | "annotations"> {
  const { policy } = rendering.resource;
  const former = managedNames(current?.annotations);
  const names = formatManagedNames(policy);
  const handOver = [ADOPT_ANNOTATION, CONFIRM_REMOVALS_ANNOTATION];
  // Whatever was merged into it is not there any more.
  const merged = Object.keys(current?.annotations ?? {}).filter((name) =>
    name.startsWith(`${MERGE_DOMAIN}/`),
  );
  return {
    labels: {
      ...without([...former.labels, MERGED_LABEL], current?.labels),
      ...policy.labels,
      [MANAGED_BY_LABEL]: MANAGED_BY,
    },
    annotations: {
      ...without(
        [...former.annotations, ...merged, ...handOver, METADATA_ANNOTATION],
        current?.annotations,
      ),
      ...policy.annotations,
      ...annotations(rendering),
      ...(names !== undefined && { [METADATA_ANNOTATION]: names }),
    },
  };
}

/**
 * Returns the complete target. Foreign labels, annotations, finalizers and owners of `current` are
 * preserved; the content belongs to the operator, so keys that others added are removed. The
 * resourceVersion of `current` is the precondition of the write.
 */
export function renderTarget(rendering: Rendering, current: ObjectMeta | undefined): KubeObject {
  const { resource, content } = rendering;
  const { policy } = resource;
  const { kind, name, type } = resource.target;
  return {
    apiVersion: "v1",
    kind,
    metadata: {
      name,
      namespace: resource.namespace,
      ...managedMetadata(rendering, current),
      ownerReferences: [
        ...foreignOwners(current, rendering),
        ...(policy.creationPolicy === "Owner" ? [ownerReference(rendering)] : []),
      ],
      ...(current?.finalizers && { finalizers: current.finalizers }),
      ...(current?.uid && { uid: current.uid }),
      ...(current?.resourceVersion && { resourceVersion: current.resourceVersion }),
    },
    ...(kind === "Secret" && { type: type ?? "Opaque" }),
    ...(policy.immutable && { immutable: true }),
    ...renderContent(kind, content),
  };
}

/**
 * Returns what a resource applies to exactly this state of an object that it merges into: its keys,
 * an annotation about them, and the label by which a watch shows it; nothing to remove all of them.
 * `namesKeys`: the annotation lists the keys, because they differ from the keys of the items.
 */
export function renderMerge(
  rendering: Rendering,
  { uid, resourceVersion }: Versioned,
  namesKeys = isDerived(rendering.resource),
): KubeObject {
  const { resource, content } = rendering;
  const { kind, name } = resource.target;
  const fields = Object.entries(renderContent(kind, content)).filter(
    ([, values]) => Object.keys(values).length > 0,
  );
  const keys = namesKeys ? [...content.keys()].sort() : undefined;
  const claims = { [mergeAnnotation(resource)]: formatClaims(annotations(rendering), keys) };
  const own = content.size === 0 ? {} : { labels: { [MERGED_LABEL]: "true" }, annotations: claims };
  const metadata = { name, namespace: resource.namespace, uid, resourceVersion, ...own };
  return { apiVersion: "v1", kind, metadata, ...Object.fromEntries(fields) };
}

/**
 * Returns the merge patch of a target whose other fields are right: the changed keys, `null` for
 * the removed ones, and the operator's own label and annotations.
 */
export function renderPatch(
  rendering: Rendering,
  changed: readonly string[],
  removed: readonly string[],
): MergePatch {
  const { kind } = rendering.resource.target;
  const content = new Map([...rendering.content].filter(([key]) => changed.includes(key)));
  const fields: Record<string, Record<string, string | null>> = renderContent(kind, content);
  for (const field of Object.values(fields)) {
    // A key of a ConfigMap may move between `data` and `binaryData`.
    for (const key of [...changed, ...removed]) if (!Object.hasOwn(field, key)) field[key] = null;
  }
  return {
    metadata: { labels: { [MANAGED_BY_LABEL]: MANAGED_BY }, annotations: annotations(rendering) },
    ...fields,
  };
}
