import type { StateRef } from "../../../../src/operator/kube/client/kube-api.ts";
import {
  apiVersionOf,
  type KubeObject,
  type ResourceDescriptor,
} from "../../../../src/operator/kube/resource.ts";
import { isEqualJson } from "./json.ts";
import { conflict } from "./status-error.ts";

const keys = new WeakMap<ResourceDescriptor, string>();

/** Identifies a resource, of any version. */
export function resourceKey(resource: ResourceDescriptor): string {
  let key = keys.get(resource);
  if (key === undefined) keys.set(resource, (key = `${resource.group}/${resource.plural}`));
  return key;
}

/** Returns the type fields of the objects of a resource. */
export const typeOf = (resource: ResourceDescriptor): Pick<KubeObject, "apiVersion" | "kind"> => ({
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
});

/**
 * Reports whether a resource is a custom one, or a workload: it has a generation and a status
 * subresource.
 */
export const isCustom = ({ group }: ResourceDescriptor): boolean =>
  group === "apps" || (group.includes(".") && !group.endsWith("k8s.io"));

/** Reports whether replacing an object that does not exist creates it. */
export const mayCreateByUpdate = ({ kind }: ResourceDescriptor): boolean =>
  kind === "Lease" || kind === "Event";

/**
 * Reports whether two states of a custom object differ only in metadata and status: then the
 * generation is the same.
 */
export function hasSameSpec(before: KubeObject, after: KubeObject): boolean {
  const { metadata, status } = after;
  return isEqualJson({ ...before, metadata, status }, { ...after, status });
}

/**
 * @throws StatusError Conflict when the object has another uid or resourceVersion than the caller
 * expects
 */
export function expectState({ metadata }: KubeObject, { uid, resourceVersion }: StateRef): void {
  if ((uid ?? metadata.uid) !== metadata.uid) throw conflict();
  if ((resourceVersion || metadata.resourceVersion) !== metadata.resourceVersion) throw conflict();
}
