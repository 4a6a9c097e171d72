import type { KubeObject, ObjectRef, ResourceDescriptor } from "../resource.ts";

export interface ListOptions {
  /** One namespace, or `ALL_NAMESPACES`. */
  readonly namespace: string;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Ask for `PartialObjectMetadata`: objects come without anything but their metadata, so no value ever reaches this process. */
  readonly metadataOnly?: boolean | undefined;
}

export interface ListPage {
  readonly items: readonly KubeObject[];
  /** Where a watch goes on from; the same on every page of one list. */
  readonly resourceVersion: string;
}

export interface WatchOptions extends ListOptions {
  /** Where to go on from: that of a list, an event or a bookmark. */
  readonly resourceVersion: string;
  /** After how many seconds the server is to end the watch. */
  readonly timeoutSeconds: number;
}

export type WatchEvent =
  | { readonly type: "added" | "modified" | "deleted"; readonly object: KubeObject }
  /** Nothing happened up to this resourceVersion. */
  | { readonly type: "bookmark"; readonly resourceVersion: string };

/** Which object, and optionally which state of it, a call is meant for; another one is a `Conflict`. */
export interface StateRef extends ObjectRef {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export interface DeleteOptions {
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
}

/**
 * The port to the API server (design: engine, "Ports"). One real implementation: `KubeClient`.
 *
 * Every call rejects with a `KubeError`, or with the signal's reason once that is aborted. Objects come back with `apiVersion` and
 * `kind` of the descriptor, also those from lists and metadata-only reads. A write that rejects with `Timeout` or `Unavailable` may
 * have happened all the same.
 */
export interface KubeApi {
  get(resource: ResourceDescriptor, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject>;
  /** As `get`, but only the metadata leaves the server (`PartialObjectMetadata`). */
  getMetadata(resource: ResourceDescriptor, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject>;
  /** The whole collection, page by page (500 objects each). Rejects with `Gone` when it took too long and must start anew. */
  list(resource: ResourceDescriptor, options: ListOptions, signal: AbortSignal): AsyncIterable<ListPage>;
  /**
   * What happens after `resourceVersion`. Ends when the server ends it or the connection closes between two events; an ERROR in the
   * stream, a reset and a line that cannot be read are thrown. A dead peer is silent: the caller bounds the silence.
   */
  watch(resource: ResourceDescriptor, options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchEvent>;
  /** POST: `AlreadyExists` when the name is taken. */
  create(resource: ResourceDescriptor, object: KubeObject, signal: AbortSignal): Promise<KubeObject>;
  /** PUT of the whole object. `metadata.resourceVersion` is required: `Conflict` when the object has changed since. */
  replace(resource: ResourceDescriptor, object: KubeObject, signal: AbortSignal): Promise<KubeObject>;
  /**
   * Server-side apply of exactly the fields in `object`, under the client's field manager. Without `force`, a field of another manager
   * is a `Conflict`. Creates the object where it does not exist.
   */
  apply(resource: ResourceDescriptor, object: KubeObject, options: { force: boolean }, signal: AbortSignal): Promise<KubeObject>;
  /**
   * Replaces the status, and only that, by PUT on the status subresource. With `resourceVersion` and `uid` in `ref` it is refused as
   * `Conflict` when the object is another by now. Only for custom resources: their server ignores the rest of the object here.
   */
  replaceStatus(resource: ResourceDescriptor, ref: StateRef, status: object, signal: AbortSignal): Promise<KubeObject>;
  /** Deletes the object; with `uid` or `resourceVersion` in `ref` only if it is still that one. */
  delete(resource: ResourceDescriptor, ref: StateRef, options: DeleteOptions, signal: AbortSignal): Promise<void>;
}
