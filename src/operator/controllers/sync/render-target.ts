import {
  CONTENT_ANNOTATION,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  OWNER_ANNOTATION,
  SOURCES_ANNOTATION,
  VERSIONS_ANNOTATION,
} from "../../api/names.ts";
import {
  apiVersionOf,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
  type ResourceDescriptor,
} from "../../kube/resource.ts";
import { byKey, type Content, renderContent } from "../../sync/content.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import { type SyncedKey, ownerName, writtenSource } from "../../sync/target.ts";

/** Everything a target of ours is made of. */
export interface Rendering {
  readonly resource: SyncResource;
  /** Descriptor of the owning resource's kind. */
  readonly owner: ResourceDescriptor;
  readonly content: Content;
  readonly digest: string;
  readonly synced: ReadonlyMap<string, SyncedKey>;
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

/** JSON of one fact per key, in a fixed order. `Object.fromEntries` keeps `__proto__`, a legal key, as a member. */
function perKey(synced: ReadonlyMap<string, SyncedKey>, fact: (value: SyncedKey) => string | number): string {
  return JSON.stringify(Object.fromEntries([...synced].sort(byKey).map(([key, value]) => [key, fact(value)])));
}

function annotations({ resource, digest, synced }: Rendering): Record<string, string> {
  return {
    [OWNER_ANNOTATION]: ownerName(resource),
    [CONTENT_ANNOTATION]: digest,
    [VERSIONS_ANNOTATION]: perKey(synced, ({ version }) => version),
    [SOURCES_ANNOTATION]: perKey(synced, writtenSource),
  };
}

/** Owners that others added stay; a controller, of which there can be one, and an earlier life of this resource go. */
function foreignOwners(current: ObjectMeta | undefined, { resource, owner }: Rendering): OwnerReference[] {
  return (current?.ownerReferences ?? []).filter(
    (reference) => reference.controller !== true && !(reference.kind === owner.kind && reference.name === resource.name),
  );
}

/**
 * The whole target. Foreign labels, annotations, finalizers and owners of `current` are carried over; the content is ours whole, so keys
 * that others added go. With `current` its resourceVersion is the precondition of the write.
 */
export function renderTarget(rendering: Rendering, current: ObjectMeta | undefined): KubeObject {
  const { resource, content } = rendering;
  const { kind, name, type } = resource.target;
  return {
    apiVersion: "v1",
    kind,
    metadata: {
      name,
      namespace: resource.namespace,
      labels: { ...current?.labels, [MANAGED_BY_LABEL]: MANAGED_BY },
      annotations: { ...current?.annotations, ...annotations(rendering) },
      ownerReferences: [...foreignOwners(current, rendering), ownerReference(rendering)],
      ...(current?.finalizers && { finalizers: current.finalizers }),
      ...(current?.uid && { uid: current.uid }),
      ...(current?.resourceVersion && { resourceVersion: current.resourceVersion }),
    },
    ...(kind === "Secret" && { type: type ?? "Opaque" }),
    ...renderContent(kind, content),
  };
}
