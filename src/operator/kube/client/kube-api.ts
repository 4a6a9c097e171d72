import { Redacted } from "../../../lib/redacted.ts";
import type { KubeObject, ObjectRef, ResourceDescriptor } from "../resource.ts";
import { isObject } from "../../../lib/is-object.ts";

export interface ListOptions {
  /** One namespace, or `ALL_NAMESPACES`. */
  readonly namespace: string;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /**
   * Requests pages instead of a stream of the list, because a stream takes the permission to watch:
   * for a small collection without a watch.
   */
  readonly paged?: boolean | undefined;
  /**
   * Requests `PartialObjectMetadata`: only the metadata of the objects reaches this process, never
   * a value.
   */
  readonly metadataOnly?: boolean | undefined;
  /** Returns the objects with their `managedFields`: they may be larger than the rest. */
  readonly managedFields?: boolean | undefined;
}

/** One page of a list. An item replaces one of the same name on an earlier page. */
export interface ListPage {
  readonly items: readonly KubeObject[];
  /** Objects of earlier pages, and of this one, that were deleted during the list. */
  readonly deleted?: readonly KubeObject[];
  /** The version at which a watch continues, taken from the last page. */
  readonly resourceVersion: string;
}

export interface WatchOptions extends ListOptions {
  /** The version to continue from, taken from a list, an event or a bookmark. */
  readonly resourceVersion: string;
  /** Time in seconds after which the server ends the watch. */
  readonly timeoutSeconds: number;
  /** Called when the server has accepted the watch, before the first event. */
  readonly onOpen?: () => void;
}

export type WatchEvent =
  | { readonly type: "added" | "modified" | "deleted"; readonly object: KubeObject }
  /** All events up to this resourceVersion have been sent. */
  | { readonly type: "bookmark"; readonly resourceVersion: string };

/** An object and optionally its expected state; any other state is a `Conflict`. */
export interface StateRef extends ObjectRef {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** The fields of an object to change; `null` removes one (RFC 7386). */
export interface MergePatch {
  readonly metadata?: object;
  readonly [field: string]: unknown;
}

export interface ApplyOptions {
  /**
   * Owner of the fields, at most 128 characters; by default the manager of all writes of the
   * client.
   */
  readonly fieldManager?: string | undefined;
  /**
   * Takes the fields over from other managers: for fields that belong to the caller alone. `false`
   * by default.
   */
  readonly force?: boolean | undefined;
}

/**
 * The port to the API server (docs/design/engine.md#ports). Its one real implementation is
 * `KubeClient`.
 *
 * Every method rejects with a `KubeError`, or with the signal's reason when the signal is aborted.
 * All returned objects, also in lists and metadata-only reads, have the `apiVersion` and `kind` of
 * the descriptor. A write that rejects with `Timeout` or `Unavailable` may have happened
 * nevertheless.
 */
export interface KubeApi {
  get(resource: ResourceDescriptor, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject>;
  /**
   * Like `get`, but the server sends only the metadata (`PartialObjectMetadata`). It
   * returns `managedFields`; of the other methods, only a list or watch that requests them does.
   */
  getMetadata(
    resource: ResourceDescriptor,
    ref: ObjectRef,
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /**
   * Lists the whole collection in pages of up to 500 objects, as a stream where the server has
   * streaming lists. Rejects with `Gone` when it took too long and has to start again.
   */
  list(
    resource: ResourceDescriptor,
    options: ListOptions,
    signal: AbortSignal,
  ): AsyncIterable<ListPage>;
  /**
   * Yields the events after `resourceVersion`. Ends when the server ends the watch or closes the
   * connection between two events. Throws for an ERROR event, a reset, or an unreadable line. A
   * dead peer is silent, so the caller has to limit the time without an event.
   */
  watch(
    resource: ResourceDescriptor,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent>;
  /** Creates the object by POST; `AlreadyExists` when the name is taken. */
  create(
    resource: ResourceDescriptor,
    object: KubeObject,
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /**
   * Replaces the whole object by PUT. Requires `metadata.resourceVersion`; `Conflict` when the
   * object has changed since.
   */
  replace(
    resource: ResourceDescriptor,
    object: KubeObject,
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /**
   * Changes only the fields in `patch`, by JSON merge patch. Requires `resourceVersion` in `ref`;
   * `Conflict` when the object has changed since. Returns the whole object, like every write: the
   * caller notices what admission has changed.
   */
  patch(
    resource: ResourceDescriptor,
    ref: StateRef,
    patch: MergePatch,
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /**
   * Applies exactly the fields in `object` on the server; creates the object if it does not exist,
   * unless it has a uid. A field of another manager is a `Conflict` whose causes name it, unless
   * `force` takes it over.
   */
  apply(
    resource: ResourceDescriptor,
    object: KubeObject,
    options: ApplyOptions,
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /**
   * Replaces only the status, by PUT on the status subresource. With `resourceVersion` and `uid` in
   * `ref`, another state of the object is a `Conflict`. For custom resources only: the API server
   * ignores the rest of the object for them.
   */
  replaceStatus(
    resource: ResourceDescriptor,
    ref: StateRef,
    status: object,
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /**
   * Deletes the object, and its dependents in the background; with `uid` or `resourceVersion` in
   * `ref`, another object or state is a `Conflict`.
   */
  delete(resource: ResourceDescriptor, ref: StateRef, signal: AbortSignal): Promise<void>;
  /** Returns a new token of a ServiceAccount; `NotFound` if there is none of this name. */
  requestToken(
    serviceAccount: ObjectRef,
    request: TokenRequest,
    signal: AbortSignal,
  ): Promise<Redacted<string>>;
}

/**
 * Limits the writes of one leader: none happens after another leader may have started
 * (docs/design/faults.md#i7-only-the-leader-writes).
 */
export interface WriteFence {
  /** Reports whether a write may be sent now. */
  mayWrite(): boolean;
  /** Returns the time within which a write that is sent now has to end, in milliseconds. */
  writeTimeoutMs(): number;
}

/** A port to the API server with a view for each leader. */
export interface FencedKubeApi extends KubeApi {
  /** Returns a view whose writes fail as `NotLeader` while the fence is closed. */
  fenced(fence: WriteFence): KubeApi;
}

/** The token to request for a ServiceAccount. */
export interface TokenRequest {
  /** The service that the token is for: no other one accepts it. */
  readonly audience: string;
  /** Lifetime in seconds, at least 600. The API server may choose another one. */
  readonly lifetimeSeconds: number;
}

/** Returns the object that requests a token; it is never stored. */
export const tokenRequest = ({ audience, lifetimeSeconds }: TokenRequest): object => ({
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenRequest",
  spec: { audiences: [audience], expirationSeconds: lifetimeSeconds },
});

/** Returns the token in the response to a request. */
export function tokenIn(response: unknown): Redacted<string> | undefined {
  const status = isObject(response) ? response["status"] : undefined;
  const token = isObject(status) ? status["token"] : undefined;
  return typeof token === "string" && token !== "" ? new Redacted(token) : undefined;
}

/** A user of the API server and their groups. */
export interface AccessSubject {
  readonly user: string;
  readonly groups: readonly string[];
}

/** One operation on a collection. */
export interface AccessAttributes {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
  readonly namespace: string;
}

/** Decides what users are allowed to do. */
export interface AccessReviewer {
  /**
   * Reports whether the user may do this. @throws KubeError, `Forbidden` without the permission to
   * create SubjectAccessReviews
   */
  isAllowed(
    subject: AccessSubject,
    attributes: AccessAttributes,
    signal: AbortSignal,
  ): Promise<boolean>;
}

/** The path of SubjectAccessReviews: decided by the API server, never stored. */
export const ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/** Returns the object that requests one decision. */
export const accessReview = (
  subject: AccessSubject,
  resourceAttributes: AccessAttributes,
): object => ({
  apiVersion: "authorization.k8s.io/v1",
  kind: "SubjectAccessReview",
  spec: { ...subject, resourceAttributes },
});

/** Reports whether the response to a review allows the operation. */
export function isAllowedBy(response: unknown): boolean {
  const status = isObject(response) ? response["status"] : undefined;
  return isObject(status) && status["allowed"] === true;
}
