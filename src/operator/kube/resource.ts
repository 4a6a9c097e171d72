/** A collection of the API server. This package is generic over it. */
export interface ResourceDescriptor {
  /** The API group; empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export const SECRETS: ResourceDescriptor = builtIn("", "secrets", "Secret");
export const CONFIG_MAPS: ResourceDescriptor = builtIn("", "configmaps", "ConfigMap");
export const SERVICE_ACCOUNTS: ResourceDescriptor = builtIn(
  "",
  "serviceaccounts",
  "ServiceAccount",
);
export const PODS: ResourceDescriptor = builtIn("", "pods", "Pod");
export const NAMESPACES: ResourceDescriptor = builtIn("", "namespaces", "Namespace", false);
export const EVENTS: ResourceDescriptor = builtIn("events.k8s.io", "events", "Event");
export const CUSTOM_RESOURCE_DEFINITIONS: ResourceDescriptor = builtIn(
  "apiextensions.k8s.io",
  "customresourcedefinitions",
  "CustomResourceDefinition",
  false,
);
export const LEASES: ResourceDescriptor = builtIn("coordination.k8s.io", "leases", "Lease");

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** `metadata` as the API server sends it. Timestamps are RFC 3339 strings. */
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

/**
 * Formats `now`, in milliseconds since the epoch, as `metav1.MicroTime`: the API server expects six
 * fraction digits.
 */
export function microTime(now: number): string {
  return `${new Date(now).toISOString().slice(0, -1)}000Z`;
}

/**
 * Any object of the API server. Only `metadata` is checked on receipt; the caller parses the other
 * fields.
 */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/**
 * The name of one object. `namespace` is required for a namespaced resource and must be absent for
 * a cluster-scoped one.
 */
export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/**
 * Selects all namespaces in a list or watch; the only scope of a cluster-scoped resource. Explicit:
 * a missing namespace is an error and not a read of the whole cluster
 * (docs/design/security.md#namespaces).
 */
export const ALL_NAMESPACES = "*";

/** Returns the `apiVersion` of a resource, e.g. `v1` or `apps/v1`. */
export function apiVersionOf(resource: ResourceDescriptor): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/** Returns the group of an `apiVersion`; empty for the core group. */
export const groupOf = (apiVersion: string): string =>
  apiVersion.slice(0, Math.max(0, apiVersion.indexOf("/")));

/**
 * Returns the path of a collection. @throws RangeError when the namespace does not fit the
 * resource's scope
 */
export function collectionPath(resource: ResourceDescriptor, namespace: string): string {
  const root =
    resource.group === ""
      ? `/api/${resource.version}`
      : `/apis/${resource.group}/${resource.version}`;
  if (namespace === ALL_NAMESPACES) return `${root}/${resource.plural}`;
  if (!resource.namespaced)
    throw new RangeError(
      `${resource.plural}: namespace must be empty, the resource is cluster-scoped`,
    );
  if (namespace === "") throw new RangeError(`${resource.plural}: namespace is required`);
  return `${root}/namespaces/${segment(namespace)}/${resource.plural}`;
}

/**
 * Returns the path of one object, or of its subresource. @throws RangeError when `ref` does not fit
 * the resource's scope
 */
export function pathOf(
  resource: ResourceDescriptor,
  ref: ObjectRef,
  subresource?: "status" | "token",
): string {
  if (ref.name === "") throw new RangeError(`${resource.plural}: name is required`);
  const scope = resource.namespaced ? (ref.namespace ?? "") : (ref.namespace ?? ALL_NAMESPACES);
  const path = `${collectionPath(resource, scope)}/${segment(ref.name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/**
 * Returns the key of an object in stores and queues: `namespace/name`, or `name` without a
 * namespace.
 */
export function keyOf(ref: ObjectRef): string {
  return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
}

/** Returns the namespace of a key that {@link keyOf} returned; empty for an object without one. */
export function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf("/")));
}

/**
 * Rejects dot segments: encoding would leave them unchanged, and they would lead to another path.
 */
function segment(name: string): string {
  if (name === "." || name === "..") throw new RangeError(`invalid object name "${name}"`);
  return encodeURIComponent(name);
}

/** Returns a collection of Kubernetes itself, of version `v1`. */
function builtIn(
  group: string,
  plural: string,
  kind: string,
  namespaced = true,
): ResourceDescriptor {
  return { group, version: "v1", plural, kind, namespaced };
}

/**
 * Reports whether two states of an object differ in anything that a controller follows: not in the
 * status and other annotations.
 */
export function desiredStateChanged(
  { metadata: before }: KubeObject,
  { metadata: now }: KubeObject,
  annotations: readonly string[],
): boolean {
  return (
    before.uid !== now.uid ||
    before.generation !== now.generation ||
    before.deletionTimestamp !== now.deletionTimestamp ||
    (before.finalizers ?? []).join() !== (now.finalizers ?? []).join() ||
    annotations.some((name) => before.annotations?.[name] !== now.annotations?.[name])
  );
}
