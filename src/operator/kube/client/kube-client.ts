import {
  ACCESS_REVIEWS,
  accessReview,
  type AccessAttributes,
  type AccessReviewer,
  type AccessSubject,
  isAllowedBy,
  type ApplyOptions,
  type FencedKubeApi,
  type KubeApi,
  type ListOptions,
  type ListPage,
  type MergePatch,
  type StateRef,
  type WatchEvent,
  type WatchOptions,
  type WriteFence,
  tokenIn,
  type TokenRequest,
  tokenRequest,
} from "./kube-api.ts";
import { decodeEvent, decodeList, decodeObject } from "./decode-object.ts";
import {
  type ApiRequest,
  JSON_TYPE,
  RequestSender,
  type RequestSenderOptions,
} from "./request-sender.ts";
import { readStreamedList, STREAMED_LIST } from "./streamed-list.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import { defined } from "../../lib/defined.ts";
import { isObject } from "../../../lib/is-object.ts";
import { Deadline } from "../../lib/deadline.ts";
import { isKubeError, KubeError } from "../kube-error.ts";
import {
  ALL_NAMESPACES,
  apiVersionOf,
  collectionPath,
  keyOf,
  pathOf,
  SERVICE_ACCOUNTS,
  type KubeObject,
  type ObjectRef,
  type ResourceDescriptor,
} from "../resource.ts";

export interface KubeClientOptions extends RequestSenderOptions {
  /** The field manager of all writes. */
  readonly fieldManager: string;
}

const PAGE_SIZE = 500;
/**
 * Time between two pages of a streamed list after which lists are requested in pages, in
 * milliseconds.
 */
const LIST_SILENCE_MS = 10_000;

const AS_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const AS_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/** Implements `KubeApi` on the API server's HTTP interface. */
export class KubeClient implements FencedKubeApi, AccessReviewer, AsyncDisposable {
  readonly #options: KubeClientOptions;
  readonly #requests: RequestSender;
  readonly #fence: WriteFence | undefined;
  readonly #fieldManager: string;
  #streamsLists = true;

  constructor(
    options: KubeClientOptions,
    fence?: WriteFence,
    requests = new RequestSender(options),
  ) {
    this.#options = options;
    this.#requests = requests;
    this.#fence = fence;
    this.#fieldManager = managerParameter(options.fieldManager);
  }

  /**
   * Returns a client for one of several leaders: its writes fail as `NotLeader` when the fence is
   * closed. The client shares the connections, and the limit of writes in flight, with this one.
   */
  fenced(fence: WriteFence): KubeApi {
    return new KubeClient(this.#options, fence, this.#requests);
  }

  /** Closes all connections, also of fenced clients; requests and watches in flight fail. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#requests[Symbol.asyncDispose]();
  }

  get(resource: ResourceDescriptor, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject> {
    return this.#object(resource, {
      method: "GET",
      path: pathOf(resource, ref),
      operation: named("get", resource, ref),
      signal,
    });
  }

  async getMetadata(
    resource: ResourceDescriptor,
    ref: ObjectRef,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const operation = named("get", resource, ref);
    const value = await this.#send({
      method: "GET",
      path: pathOf(resource, ref),
      operation,
      signal,
      accept: AS_METADATA,
    });
    const object = decodeObject(resource, value, operation);
    return {
      ...object,
      metadata: { ...object.metadata, ...defined({ managedFields: managersIn(value) }) },
    };
  }

  async *list(
    resource: ResourceDescriptor,
    options: ListOptions,
    signal: AbortSignal,
  ): AsyncGenerator<ListPage> {
    if (this.#streamsLists && options.paged !== true) {
      try {
        return yield* this.#streamList(resource, options, signal);
      } catch (error) {
        // A server without streaming lists rejects the query before the first page.
        if (!isKubeError(error, "Invalid")) throw error;
        this.#streamsLists = false;
      }
    }
    const query = selectors(options);
    query.set("limit", String(PAGE_SIZE));
    const operation = `list ${resource.plural}`;
    const accept = options.metadataOnly ? AS_METADATA_LIST : JSON_TYPE;
    for (let next: string | undefined; next !== "";) {
      if (next) query.set("continue", next);
      const path = `${collectionPath(resource, options.namespace)}?${query.toString()}`;
      const list = decodeList(
        resource,
        await this.#send({ method: "GET", path, operation, signal, accept }),
        operation,
        options,
      );
      yield list.page;
      next = list.next;
    }
  }

  async *watch(
    resource: ResourceDescriptor,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent> {
    const { resourceVersion, timeoutSeconds } = options;
    const query = {
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion,
      timeoutSeconds: String(timeoutSeconds),
    };
    const request = watchRequest(resource, { ...options, query }, signal);
    for await (const line of this.#requests.stream(request, options.onOpen)) {
      yield decodeEvent(resource, line, request.operation, options);
    }
  }

  create(
    resource: ResourceDescriptor,
    object: KubeObject,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const scope = object.metadata.namespace ?? (resource.namespaced ? "" : ALL_NAMESPACES);
    const path = `${collectionPath(resource, scope)}?${this.#fieldManager}`;
    return this.#object(resource, {
      method: "POST",
      path,
      operation: named("create", resource, object.metadata),
      signal,
      body: object,
    });
  }

  replace(
    resource: ResourceDescriptor,
    object: KubeObject,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const operation = named("replace", resource, object.metadata);
    if (!object.metadata.resourceVersion)
      throw new RangeError(`${operation}: metadata.resourceVersion is required`);
    const path = `${pathOf(resource, object.metadata)}?${this.#fieldManager}`;
    return this.#object(resource, { method: "PUT", path, operation, signal, body: object });
  }

  patch(
    resource: ResourceDescriptor,
    ref: StateRef,
    patch: MergePatch,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const operation = named("patch", resource, ref);
    const { uid, resourceVersion } = ref;
    if (!resourceVersion) throw new RangeError(`${operation}: resourceVersion is required`);
    const path = `${pathOf(resource, ref)}?${this.#fieldManager}`;
    const body = { ...patch, metadata: { ...patch.metadata, uid, resourceVersion } };
    return this.#object(resource, {
      method: "PATCH",
      path,
      operation,
      signal,
      body,
      contentType: "application/merge-patch+json",
    });
  }

  apply(
    resource: ResourceDescriptor,
    object: KubeObject,
    { fieldManager, force = false }: ApplyOptions,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const manager =
      fieldManager === undefined ? this.#fieldManager : managerParameter(fieldManager);
    const path = `${pathOf(resource, object.metadata)}?${manager}&force=${force}`;
    const operation = named("apply", resource, object.metadata);
    const contentType = "application/apply-patch+yaml";
    return this.#object(resource, {
      method: "PATCH",
      path,
      operation,
      signal,
      body: object,
      contentType,
    });
  }

  replaceStatus(
    resource: ResourceDescriptor,
    ref: StateRef,
    status: object,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const path = `${pathOf(resource, ref, "status")}?${this.#fieldManager}`;
    const operation = named("update status of", resource, ref);
    const { name, namespace, uid, resourceVersion } = ref;
    const metadata = { name, namespace, uid, resourceVersion };
    const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, status };
    return this.#object(resource, { method: "PUT", path, operation, signal, body });
  }

  async delete(resource: ResourceDescriptor, ref: StateRef, signal: AbortSignal): Promise<void> {
    const preconditions = { uid: ref.uid, resourceVersion: ref.resourceVersion };
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: "Background",
      preconditions,
    };
    const operation = named("delete", resource, ref);
    await this.#send({ method: "DELETE", path: pathOf(resource, ref), operation, signal, body });
  }

  async requestToken(
    serviceAccount: ObjectRef,
    request: TokenRequest,
    signal: AbortSignal,
  ): Promise<Redacted<string>> {
    const operation = `create serviceaccounts/token ${keyOf(serviceAccount)}`;
    const path = pathOf(SERVICE_ACCOUNTS, serviceAccount, "token");
    const body = tokenRequest(request);
    const token = tokenIn(await this.#send({ method: "POST", path, operation, signal, body }));
    if (token !== undefined) return token;
    throw new KubeError({ kind: "Unexpected", operation, reason: "NoToken" });
  }

  async isAllowed(
    subject: AccessSubject,
    attributes: AccessAttributes,
    signal: AbortSignal,
  ): Promise<boolean> {
    const body = accessReview(subject, attributes);
    return isAllowedBy(
      await this.#send({
        method: "POST",
        path: ACCESS_REVIEWS,
        operation: "review access",
        signal,
        body,
      }),
    );
  }

  /**
   * Reports whether the API server serves an API group. Every user with a login may ask.
   * @throws KubeError
   */
  async servesGroup(group: string, signal: AbortSignal): Promise<boolean> {
    const list = await this.#send({ method: "GET", path: "/apis", operation: "list APIs", signal });
    const groups = isObject(list) && Array.isArray(list["groups"]) ? list["groups"] : [];
    return groups.some((one) => isObject(one) && one["name"] === group);
  }

  async #object(resource: ResourceDescriptor, request: ApiRequest): Promise<KubeObject> {
    return decodeObject(resource, await this.#send(request), request.operation);
  }

  async *#streamList(
    resource: ResourceDescriptor,
    options: ListOptions,
    signal: AbortSignal,
  ): AsyncGenerator<ListPage> {
    using silence = new Deadline(this.#options.clock, LIST_SILENCE_MS, signal);
    const request = watchRequest(resource, { ...options, query: STREAMED_LIST }, silence.signal);
    const { operation } = request;
    try {
      const lines = this.#requests.stream(request);
      for await (const page of readStreamedList(lines, {
        resource,
        operation,
        pageSize: PAGE_SIZE,
        managedFields: options.managedFields,
      })) {
        yield page;
        silence.restart(LIST_SILENCE_MS);
      }
    } catch (error) {
      if (!silence.expired) throw error;
      // A server that does not know the query sends the objects, and never the end.
      this.#streamsLists = false;
      throw new KubeError({ kind: "Timeout", operation, reason: "IncompleteList" });
    }
  }

  #send(request: ApiRequest): Promise<unknown> {
    return this.#requests.send(request, this.#fence);
  }
}

/** Returns the owners of the fields of an object. */
function managersIn(value: unknown): readonly unknown[] | undefined {
  const metadata = isObject(value) ? value["metadata"] : undefined;
  const managers = isObject(metadata) ? metadata["managedFields"] : undefined;
  return Array.isArray(managers) ? managers : undefined;
}

/** Names an operation in errors, e.g. `get secrets team-a/db`. */
function named(verb: string, resource: ResourceDescriptor, ref: ObjectRef): string {
  return `${verb} ${resource.plural} ${keyOf(ref)}`;
}

function watchRequest(
  resource: ResourceDescriptor,
  options: ListOptions & { readonly query: Record<string, string> },
  signal: AbortSignal,
): ApiRequest {
  const query = selectors(options);
  for (const [name, value] of Object.entries(options.query)) query.set(name, value);
  const path = `${collectionPath(resource, options.namespace)}?${query.toString()}`;
  const accept = options.metadataOnly ? AS_METADATA : JSON_TYPE;
  return { method: "GET", path, operation: `watch ${resource.plural}`, signal, accept };
}

const managerParameter = (manager: string): string => `fieldManager=${encodeURIComponent(manager)}`;

function selectors(options: ListOptions): URLSearchParams {
  const query = new URLSearchParams();
  if (options.labelSelector) query.set("labelSelector", options.labelSelector);
  if (options.fieldSelector) query.set("fieldSelector", options.fieldSelector);
  return query;
}
