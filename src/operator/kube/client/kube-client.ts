import type { Clock } from "../../../lib/clock.ts";
import type { Dispatcher } from "undici";
import type { Credentials } from "../credentials/credentials.ts";
import { Deadline } from "../../../lib/deadline.ts";
import { KubeError } from "../kube-error.ts";
import { parseJson, readJsonLines } from "./json-lines.ts";
import type { DeleteOptions, KubeApi, ListOptions, ListPage, StateRef, WatchEvent, WatchOptions } from "./kube-api.ts";
import { decodeEvent, decodeList, decodeObject, statusOfErrorEvent } from "./object-codec.ts";
import { ALL_NAMESPACES, apiVersionOf, collectionPath, keyOf, pathOf } from "../resource.ts";
import type { KubeObject, ObjectRef, ResourceDescriptor } from "../resource.ts";
import { codeOfStatus, errorOfRefusal } from "./status-error.ts";
import { errorOfTransport, Transport, type KubeRequest } from "./kube-transport.ts";
import { WriteGate } from "./write-gate.ts";

export interface KubeClientOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Connections for calls; `DEFAULT_CONNECTIONS` unless told. Each watch has one more of its own. */
  readonly connections?: number;
  /** The field manager of all writes; `vaultsync` unless told. */
  readonly fieldManager?: string;
  /** Asked directly before each write is sent; `false` makes it fail as `NotLeader`. The lease's fence (design: faults, I7). */
  readonly mayWrite?: () => boolean;
  /** For one attempt of a call, in milliseconds; 30 s unless told. */
  readonly timeoutMs?: number;
}

export const DEFAULT_CONNECTIONS = 8;
const PAGE = 500;
const WRITES_IN_FLIGHT = 16;
/** How often a call is repeated after 429 or 503 … */
const REPEATS = 3;
/** … and how long it may be asked to wait for that; beyond, the caller's queue waits, not a worker. */
const LONGEST_WAIT_MS = 5_000;

const JSON_TYPE = "application/json";
const AS_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const AS_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

type Call = Pick<KubeRequest, "method" | "path" | "operation" | "signal"> & {
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: object;
};

/**
 * The real `KubeApi`, over a few shared connections (`Transport`).
 *
 * Besides the port's contract: 429, and 503 for anything but POST, are repeated up to three times after the server's `Retry-After`; at
 * most 16 writes are in flight, fewer after a 429.
 */
export class KubeClient implements KubeApi, AsyncDisposable {
  readonly #options: KubeClientOptions;
  readonly #transport: Transport;
  readonly #writes = new WriteGate(WRITES_IN_FLIGHT);
  readonly #manager: string;

  constructor(options: KubeClientOptions) {
    this.#options = options;
    this.#transport = new Transport(options.credentials, options.connections ?? DEFAULT_CONNECTIONS);
    this.#manager = `fieldManager=${encodeURIComponent(options.fieldManager ?? "vaultsync")}`;
  }

  /** Closes all connections; calls and watches under way fail. */
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
    query.set("limit", String(PAGE));
    const operation = `list ${resource.plural}`;
    const accept = options.metadataOnly ? AS_METADATA_LIST : JSON_TYPE;
    for (let next: string | undefined; next !== "";) {
      if (next) query.set("continue", next);
      const path = `${collectionPath(resource, options.namespace)}?${query.toString()}`;
      const answer = decodeList(resource, await this.#call({ method: "GET", path, operation, signal, accept }), operation);
      yield answer.page;
      next = answer.next;
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
    const answer = await this.#transport.send(request);
    if (answer.statusCode !== 200) throw await this.#refusal(answer, request);
    try {
      for await (const line of readJsonLines(answer.body, operation)) {
        const status = statusOfErrorEvent(line);
        if (status !== undefined) throw this.#errorInStream(status, operation);
        yield decodeEvent(resource, line, operation);
      }
    } catch (error) {
      throw errorOfTransport(error, request);
    }
  }

  create(resource: ResourceDescriptor, object: KubeObject, signal: AbortSignal): Promise<KubeObject> {
    const scope = object.metadata.namespace ?? (resource.namespaced ? "" : ALL_NAMESPACES);
    const path = `${collectionPath(resource, scope)}?${this.#manager}`;
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
    if (!object.metadata.resourceVersion) throw new RangeError(`${operation}: needs the resourceVersion it replaces`);
    const path = `${pathOf(resource, object.metadata)}?${this.#manager}`;
    return this.#object(resource, { method: "PUT", path, operation, signal, body: object });
  }

  apply(resource: ResourceDescriptor, object: KubeObject, options: { force: boolean }, signal: AbortSignal): Promise<KubeObject> {
    const path = `${pathOf(resource, object.metadata)}?${this.#manager}&force=${options.force}`;
    const operation = named("apply", resource, object.metadata);
    const contentType = "application/apply-patch+yaml";
    return this.#object(resource, { method: "PATCH", path, operation, signal, body: object, contentType });
  }

  replaceStatus(resource: ResourceDescriptor, ref: StateRef, status: object, signal: AbortSignal): Promise<KubeObject> {
    const path = `${pathOf(resource, ref, "status")}?${this.#manager}`;
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
    await this.#call({ method: "DELETE", path: pathOf(resource, ref), operation, signal, body });
  }

  async #object(resource: ResourceDescriptor, call: Call): Promise<KubeObject> {
    return decodeObject(resource, await this.#call(call), call.operation);
  }

  /** Repeats what the server asks to repeat; answers the parsed body. */
  async #call(call: Call): Promise<unknown> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await (call.method === "GET" ? this.#attempt(call) : this.#write(call));
      } catch (error) {
        const wait = error instanceof KubeError ? repeatAfter(error, call) : undefined;
        if (wait === undefined || wait > LONGEST_WAIT_MS || attempt === REPEATS) throw error;
        await this.#options.clock.sleep(wait, call.signal).catch(() => call.signal.throwIfAborted());
      }
    }
  }

  async #write(call: Call): Promise<unknown> {
    using _place = await this.#writes.enter(call.signal);
    if (this.#options.mayWrite?.() === false) throw new KubeError({ kind: "NotLeader", operation: call.operation });
    try {
      const answer = await this.#attempt(call);
      this.#writes.accepted();
      return answer;
    } catch (error) {
      if (error instanceof KubeError && error.kind === "TooManyRequests") this.#writes.refused();
      throw error;
    }
  }

  async #attempt(call: Call): Promise<unknown> {
    const { method, path, operation, accept = JSON_TYPE, contentType = JSON_TYPE } = call;
    using deadline = new Deadline(this.#options.clock, this.#options.timeoutMs ?? 30_000, call.signal);
    const request: KubeRequest = {
      method,
      path,
      operation,
      pool: "calls",
      signal: deadline.signal,
      headers: call.body ? { accept, "content-type": contentType } : { accept },
      ...(call.body && { body: JSON.stringify(call.body) }),
    };
    try {
      const answer = await this.#transport.send(request);
      if (answer.statusCode < 200 || answer.statusCode > 299) throw await this.#refusal(answer, request);
      return parseJson(await answer.body.text(), operation);
    } catch (error) {
      if (deadline.expired) throw new KubeError({ kind: "Timeout", operation, reason: "Deadline" });
      throw errorOfTransport(error, request);
    }
  }

  async #refusal(answer: Dispatcher.ResponseData, request: KubeRequest): Promise<KubeError> {
    const text = await answer.body.text();
    const header = answer.headers["retry-after"];
    return errorOfRefusal({
      operation: request.operation,
      status: answer.statusCode,
      body: jsonOrNothing(text),
      retryAfter: Array.isArray(header) ? header[0] : header,
      now: this.#options.clock.now(),
    });
  }

  #errorInStream(body: unknown, operation: string): KubeError {
    return errorOfRefusal({ operation, status: codeOfStatus(body), body, now: this.#options.clock.now() });
  }
}

/** `get secrets team-a/db` */
function named(verb: string, resource: ResourceDescriptor, ref: ObjectRef): string {
  return `${verb} ${resource.plural} ${keyOf(ref)}`;
}

function selectors(options: ListOptions): URLSearchParams {
  const query = new URLSearchParams();
  if (options.labelSelector) query.set("labelSelector", options.labelSelector);
  if (options.fieldSelector) query.set("fieldSelector", options.fieldSelector);
  return query;
}

/** A 429 was not begun, a 503 with `Retry-After` may have been: only what can be sent twice is. */
function repeatAfter(error: KubeError, call: Call): number | undefined {
  if (error.kind === "TooManyRequests") return error.retryAfterMs ?? 1_000;
  return error.status === 503 && call.method !== "POST" ? error.retryAfterMs : undefined;
}

function jsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
