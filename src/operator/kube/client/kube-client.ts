import type { Clock } from "../../../lib/clock.ts";
import type { Dispatcher } from "undici";
import type { Credentials } from "../credentials/credentials.ts";
import { Deadline } from "../../../lib/deadline.ts";
import { KubeError } from "../kube-error.ts";
import { parseJson, readJsonLines } from "./json-lines.ts";
import type {
  DeleteOptions,
  KubeApi,
  ListOptions,
  ListPage,
  MergePatch,
  StateRef,
  WatchEvent,
  WatchOptions,
} from "./kube-api.ts";
import { decodeEvent, decodeList, decodeObject, statusOfErrorEvent } from "./decode-object.ts";
import { ALL_NAMESPACES, apiVersionOf, collectionPath, keyOf, pathOf } from "../resource.ts";
import type { KubeObject, ObjectRef, ResourceDescriptor } from "../resource.ts";
import { statusCodeOf, responseError } from "./response-error.ts";
import { transportError, KubeTransport, type KubeRequest } from "./kube-transport.ts";
import { WriteLimiter } from "./write-limiter.ts";

export interface KubeClientOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Maximum number of connections for requests; 8 by default. Each watch has a further connection of its own. */
  readonly connections?: number;
  /** The field manager of all writes. */
  readonly fieldManager: string;
  /** Called directly before each write is sent; `false` makes the write fail as `NotLeader` (docs/design/faults.md#i7). */
  readonly mayWrite?: () => boolean;
  /** Time for one attempt of a request, in milliseconds; 30 s by default. */
  readonly timeoutMs?: number;
}

const DEFAULT_CONNECTIONS = 8;
const DEFAULT_TIMEOUT_MS = 30_000;
const PAGE_SIZE = 500;
const MAX_WRITES_IN_FLIGHT = 16;
/** Maximum number of retries of a request after 429 or 503. */
const MAX_RETRIES = 3;
/** Longest delay before such a retry. If the server asks for more, the caller's queue has to wait instead of a worker. */
const MAX_RETRY_DELAY_MS = 5_000;

const JSON_TYPE = "application/json";
const AS_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const AS_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

type ApiRequest = Pick<KubeRequest, "method" | "path" | "operation" | "signal"> & {
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: object;
};

/**
 * Implements `KubeApi` over a few shared connections (`KubeTransport`).
 *
 * In addition to what `KubeApi` guarantees, 429, and 503 for anything but POST, are retried up to three times after the server's
 * `Retry-After`; at most 16 writes are in flight, fewer after a 429.
 */
export class KubeClient implements KubeApi, AsyncDisposable {
  readonly #options: KubeClientOptions;
  readonly #transport: KubeTransport;
  readonly #writes = new WriteLimiter(MAX_WRITES_IN_FLIGHT);
  readonly #fieldManager: string;

  constructor(options: KubeClientOptions) {
    this.#options = options;
    this.#transport = new KubeTransport(options.credentials, options.connections ?? DEFAULT_CONNECTIONS);
    this.#fieldManager = `fieldManager=${encodeURIComponent(options.fieldManager)}`;
  }

  /** Closes all connections; requests and watches in flight fail. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#transport[Symbol.asyncDispose]();
  }

  get(resource: ResourceDescriptor, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject> {
    return this.#object(resource, { method: "GET", path: pathOf(resource, ref), operation: named("get", resource, ref), signal });
  }

  getMetadata(resource: ResourceDescriptor, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject> {
    const operation = named("get", resource, ref);
    return this.#object(resource, { method: "GET", path: pathOf(resource, ref), operation, signal, accept: AS_METADATA });
  }

  async *list(resource: ResourceDescriptor, options: ListOptions, signal: AbortSignal): AsyncGenerator<ListPage> {
    const query = selectors(options);
    query.set("limit", String(PAGE_SIZE));
    const operation = `list ${resource.plural}`;
    const accept = options.metadataOnly ? AS_METADATA_LIST : JSON_TYPE;
    for (let next: string | undefined; next !== "";) {
      if (next) query.set("continue", next);
      const path = `${collectionPath(resource, options.namespace)}?${query.toString()}`;
      const list = decodeList(resource, await this.#send({ method: "GET", path, operation, signal, accept }), operation);
      yield list.page;
      next = list.next;
    }
  }

  async *watch(resource: ResourceDescriptor, options: WatchOptions, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const query = selectors(options);
    query.set("watch", "true");
    query.set("allowWatchBookmarks", "true");
    query.set("resourceVersion", options.resourceVersion);
    query.set("timeoutSeconds", String(options.timeoutSeconds));
    const operation = `watch ${resource.plural}`;
    const path = `${collectionPath(resource, options.namespace)}?${query.toString()}`;
    const headers = { accept: options.metadataOnly ? AS_METADATA : JSON_TYPE };
    const request: KubeRequest = { method: "GET", path, operation, headers, pool: "watches", signal };
    const response = await this.#transport.send(request);
    if (response.statusCode !== 200) throw await this.#failure(response, request);
    try {
      for await (const line of readJsonLines(response.body, operation)) {
        const status = statusOfErrorEvent(line);
        if (status !== undefined) throw this.#streamError(status, operation);
        yield decodeEvent(resource, line, operation);
      }
    } catch (error) {
      throw transportError(error, request);
    }
  }

  create(resource: ResourceDescriptor, object: KubeObject, signal: AbortSignal): Promise<KubeObject> {
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

  replace(resource: ResourceDescriptor, object: KubeObject, signal: AbortSignal): Promise<KubeObject> {
    const operation = named("replace", resource, object.metadata);
    if (!object.metadata.resourceVersion) throw new RangeError(`${operation}: metadata.resourceVersion is required`);
    const path = `${pathOf(resource, object.metadata)}?${this.#fieldManager}`;
    return this.#object(resource, { method: "PUT", path, operation, signal, body: object });
  }

  patch(resource: ResourceDescriptor, ref: StateRef, patch: MergePatch, signal: AbortSignal): Promise<KubeObject> {
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

  apply(resource: ResourceDescriptor, object: KubeObject, signal: AbortSignal): Promise<KubeObject> {
    const path = `${pathOf(resource, object.metadata)}?${this.#fieldManager}&force=false`;
    const operation = named("apply", resource, object.metadata);
    const contentType = "application/apply-patch+yaml";
    return this.#object(resource, { method: "PATCH", path, operation, signal, body: object, contentType });
  }

  replaceStatus(resource: ResourceDescriptor, ref: StateRef, status: object, signal: AbortSignal): Promise<KubeObject> {
    const path = `${pathOf(resource, ref, "status")}?${this.#fieldManager}`;
    const operation = named("update status of", resource, ref);
    const { name, namespace, uid, resourceVersion } = ref;
    const metadata = { name, namespace, uid, resourceVersion };
    const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, status };
    return this.#object(resource, { method: "PUT", path, operation, signal, body });
  }

  async delete(resource: ResourceDescriptor, ref: StateRef, options: DeleteOptions, signal: AbortSignal): Promise<void> {
    const preconditions = { uid: ref.uid, resourceVersion: ref.resourceVersion };
    const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions, ...options };
    const operation = named("delete", resource, ref);
    await this.#send({ method: "DELETE", path: pathOf(resource, ref), operation, signal, body });
  }

  async #object(resource: ResourceDescriptor, request: ApiRequest): Promise<KubeObject> {
    return decodeObject(resource, await this.#send(request), request.operation);
  }

  /** Sends the request, retries it when the server asks for that, and returns the parsed body. */
  async #send(request: ApiRequest): Promise<unknown> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await (request.method === "GET" ? this.#attempt(request) : this.#write(request));
      } catch (error) {
        const delay = error instanceof KubeError ? retryDelay(error, request) : undefined;
        if (delay === undefined || delay > MAX_RETRY_DELAY_MS || attempt === MAX_RETRIES) throw error;
        await this.#options.clock.sleep(delay, request.signal).catch(() => request.signal.throwIfAborted());
      }
    }
  }

  async #write(request: ApiRequest): Promise<unknown> {
    using _slot = await this.#writes.acquire(request.signal);
    if (this.#options.mayWrite?.() === false) throw new KubeError({ kind: "NotLeader", operation: request.operation });
    try {
      const body = await this.#attempt(request);
      this.#writes.onSuccess();
      return body;
    } catch (error) {
      if (error instanceof KubeError && error.kind === "TooManyRequests") this.#writes.onThrottled();
      throw error;
    }
  }

  async #attempt({ method, path, operation, signal, body, ...types }: ApiRequest): Promise<unknown> {
    const { accept = JSON_TYPE, contentType = JSON_TYPE } = types;
    using deadline = new Deadline(this.#options.clock, this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS, signal);
    const request: KubeRequest = {
      method,
      path,
      operation,
      pool: "requests",
      signal: deadline.signal,
      headers: body ? { accept, "content-type": contentType } : { accept },
      ...(body && { body: JSON.stringify(body) }),
    };
    try {
      const response = await this.#transport.send(request);
      if (response.statusCode < 200 || response.statusCode > 299) throw await this.#failure(response, request);
      return parseJson(await response.body.text(), operation);
    } catch (error) {
      if (deadline.expired) throw new KubeError({ kind: "Timeout", operation, reason: "Deadline" });
      throw transportError(error, request);
    }
  }

  async #failure(response: Dispatcher.ResponseData, request: KubeRequest): Promise<KubeError> {
    const text = await response.body.text();
    const header = response.headers["retry-after"];
    return responseError({
      operation: request.operation,
      status: response.statusCode,
      body: jsonOrUndefined(text),
      retryAfter: Array.isArray(header) ? header[0] : header,
      now: this.#options.clock.now(),
    });
  }

  #streamError(body: unknown, operation: string): KubeError {
    return responseError({ operation, status: statusCodeOf(body), body, now: this.#options.clock.now() });
  }
}

/** Names an operation in errors, e.g. `get secrets team-a/db`. */
function named(verb: string, resource: ResourceDescriptor, ref: ObjectRef): string {
  return `${verb} ${resource.plural} ${keyOf(ref)}`;
}

function selectors(options: ListOptions): URLSearchParams {
  const query = new URLSearchParams();
  if (options.labelSelector) query.set("labelSelector", options.labelSelector);
  if (options.fieldSelector) query.set("fieldSelector", options.fieldSelector);
  return query;
}

/**
 * Returns the delay before a retry, if one is safe: the server did not start a request rejected with 429, but may have started
 * one that ends with 503.
 */
function retryDelay(error: KubeError, request: ApiRequest): number | undefined {
  if (error.kind === "TooManyRequests") return error.retryAfterMs ?? 1_000;
  return error.status === 503 && request.method !== "POST" ? error.retryAfterMs : undefined;
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
