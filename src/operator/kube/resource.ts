/** Which collection of the API server is meant. Everything in this room is generic over it. */
export interface ResourceDescriptor {
  /** The API group; empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export const SECRETS: ResourceDescriptor = builtIn("", "v1", "secrets", "Secret");
export const CONFIG_MAPS: ResourceDescriptor = builtIn("", "v1", "configmaps", "ConfigMap");
export const NAMESPACES: ResourceDescriptor = builtIn("", "v1", "namespaces", "Namespace", false);
export const EVENTS: ResourceDescriptor = builtIn("events.k8s.io", "v1", "events", "Event");
export const LEASES: ResourceDescriptor = builtIn("coordination.k8s.io", "v1", "leases", "Lease");

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** `metadata` as the API server sends it; times are RFC 3339 strings. What is absent there is absent here. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly unknown[];
}

/** Any object of the API server. Only `metadata` is checked at the edge; the other fields are for the caller to parse. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** One object of a collection. `namespace` is required for a namespaced resource and must be absent for a cluster-scoped one. */
export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/**
 * The scope "every namespace" of a list or watch, and the only one of a cluster-scoped resource. It has to be written out, so that a
 * namespace forgotten somewhere is an error and not a read of the whole cluster (design: security, advisory GHSA-fcxq-v2r3-cc8h).
 */
export const ALL_NAMESPACES = "*";

/** `v1`, `apps/v1` … */
export function apiVersionOf(resource: ResourceDescriptor): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/** Where a collection is served. @throws RangeError when the namespace does not fit the resource's scope */
export function collectionPath(resource: ResourceDescriptor, namespace: string): string {
  const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  if (namespace === ALL_NAMESPACES) return `${root}/${resource.plural}`;
  if (!resource.namespaced) throw new RangeError(`${resource.plural} have no namespace`);
  if (namespace === "") throw new RangeError(`${resource.plural} need a namespace`);
  return `${root}/namespaces/${segment(namespace)}/${resource.plural}`;
}

/** Where one object, or a subresource of it, is served. @throws RangeError when `ref` does not fit the resource's scope */
export function pathOf(resource: ResourceDescriptor, ref: ObjectRef, subresource?: "status"): string {
  if (ref.name === "") throw new RangeError(`${resource.plural} need a name`);
  const scope = resource.namespaced ? (ref.namespace ?? "") : (ref.namespace ?? ALL_NAMESPACES);
  const path = `${collectionPath(resource, scope)}/${segment(ref.name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/** How stores and queues name an object: `namespace/name`, or `name` alone where there is no namespace. */
export function keyOf(ref: ObjectRef): string {
  return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
}

/** The inverse of `keyOf`. */
export function refOf(key: string): ObjectRef {
  const slash = key.indexOf("/");
  return slash === -1 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Encoding leaves dots alone, and they would lead to another path. */
function segment(name: string): string {
  if (name === "." || name === "..") throw new RangeError(`"${name}" is no name`);
  return encodeURIComponent(name);
}

function builtIn(group: string, version: string, plural: string, kind: string, namespaced = true): ResourceDescriptor {
  return { group, version, plural, kind, namespaced };
}
