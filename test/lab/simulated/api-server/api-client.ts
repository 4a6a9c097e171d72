import type {
  ApplyOptions,
  FencedKubeApi,
  KubeApi,
  ListOptions,
  ListPage,
  MergePatch,
  StateRef,
  WatchEvent,
  WatchOptions,
  WriteFence,
  TokenRequest,
} from "../../../../src/operator/kube/client/kube-api.ts";
import { Deadline } from "../../../../src/operator/lib/deadline.ts";
import { responseError } from "../../../../src/operator/kube/client/response-error.ts";
import { KubeError } from "../../../../src/operator/kube/kube-error.ts";
import {
  type KubeObject,
  keyOf,
  type ObjectRef,
  type ResourceDescriptor,
  SERVICE_ACCOUNTS,
} from "../../../../src/operator/kube/resource.ts";
import type { Redacted } from "../../../../src/lib/redacted.ts";
import { issueToken } from "./service-account-tokens.ts";
import type { Caller, Verb } from "./access.ts";
import { managersIn } from "./field-ownership.ts";
import { resourceKey } from "./resource-rules.ts";
import { timestampOf, writtenAt } from "./object-metadata.ts";
import type { InMemoryApiServer } from "./in-memory-api-server.ts";
import { StatusError } from "./status-error.ts";

/** Times of the last writes of Secrets and ConfigMaps by `<uid> <field manager>`. */
const writeTimes = new WeakMap<InMemoryApiServer, Map<string, number>>();

function timesOf(server: InMemoryApiServer): Map<string, number> {
  const known = writeTimes.get(server) ?? new Map<string, number>();
  writeTimes.set(server, known);
  return known;
}

/** One request of a client, for tests that delay or fail it. */
export interface ApiRequest {
  readonly user: string;
  readonly verb: Verb;
  readonly resource: ResourceDescriptor;
  readonly ref: Partial<ObjectRef>;
  /** Aborted when the client no longer waits. It is made when it is read: most requests do not wait. */
  readonly signal: AbortSignal;
}

/**
 * The network between a client and the server. Both functions may wait and may throw: `send` before
 * the server sees the request, `respond` after it was carried out. A `StatusError` is a response; a
 * `KubeError` is passed on.
 */
export interface Network {
  /**
   * Resolves once the process of the client runs: a suspended one sends nothing and receives
   * nothing. `undefined` if it runs.
   */
  running?(): Promise<void> | undefined;
  send?(request: ApiRequest): void | Promise<void>;
  respond?(request: ApiRequest): void | Promise<void>;
  /** Returns the time between a change and its event on a new watch, in milliseconds. */
  watchLagMs?(request: Pick<ApiRequest, "resource">): number;
}

export interface ApiClientOptions extends Partial<Caller> {
  readonly network?: Network;
  /** Checked directly before each write is sent. */
  readonly fence?: WriteFence;
}

const PAGE_SIZE = 500;
/** Time for one request in milliseconds. */
const TIMEOUT_MS = 30_000;

/** Names the requests for tokens in errors and to the network; nothing is stored. */
const SERVICE_ACCOUNT_TOKENS = { ...SERVICE_ACCOUNTS, plural: "serviceaccounts/token" };

/** The in-memory implementation of `KubeApi`: a client of an `InMemoryApiServer`. */
export class ApiClient implements FencedKubeApi {
  readonly #server: InMemoryApiServer;
  readonly #caller: Caller;
  readonly #network: Network;
  readonly #fence: WriteFence | undefined;

  constructor(server: InMemoryApiServer, options: ApiClientOptions = {}) {
    this.#server = server;
    const { user = "operator", fieldManager = "vaultsync", network = {}, fence } = options;
    this.#caller = { user, fieldManager };
    this.#network = network;
    this.#fence = fence;
  }

  fenced(fence: WriteFence): KubeApi {
    return new ApiClient(this.#server, { ...this.#caller, network: this.#network, fence });
  }

  get(resource: ResourceDescriptor, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject> {
    return this.#request("get", "get", resource, ref, signal, () =>
      this.#server.get(resource, ref, this.#caller),
    );
  }

  async getMetadata(
    resource: ResourceDescriptor,
    ref: ObjectRef,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const { metadata, ...object } = await this.get(resource, ref, signal);
    return metadataOf({
      ...object,
      metadata: { ...metadata, managedFields: this.#managersOf(resource, ref) },
    });
  }

  async *list(
    resource: ResourceDescriptor,
    options: ListOptions,
    signal: AbortSignal,
  ): AsyncGenerator<ListPage> {
    const { items, resourceVersion } = await this.#request(
      "list",
      "list",
      resource,
      options,
      signal,
      () => this.#server.list(resource, options, this.#caller),
    );
    const managed = options.managedFields === true ? items.map((one) => this.#managed(one)) : items;
    const sent = options.metadataOnly ? managed.map(metadataOf) : managed;
    for (let start = 0; start === 0 || start < sent.length; start += PAGE_SIZE) {
      yield { items: sent.slice(start, start + PAGE_SIZE), resourceVersion };
    }
  }

  async *watch(
    resource: ResourceDescriptor,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent> {
    const lagMs = this.#network.watchLagMs?.({ resource }) ?? 0;
    const watch = await this.#request("watch", "watch", resource, options, signal, () => {
      const { clock, version } = this.#server;
      return this.#server
        .watched(resource, options.namespace, this.#caller)
        .watch(options, clock, version, lagMs, this.#caller.user);
    });
    options.onOpen?.();
    try {
      for await (const event of watch.events(signal)) {
        await this.#network.running?.();
        yield options.managedFields === true && "object" in event
          ? { ...event, object: this.#managed(event.object) }
          : event;
      }
    } catch (error) {
      throw this.#failure(error, `watch ${resource.plural}`);
    }
  }

  create(
    resource: ResourceDescriptor,
    object: KubeObject,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const { metadata } = object;
    return this.#write("create", "create", resource, metadata, signal, () =>
      this.#server.create(resource, object, this.#caller),
    );
  }

  replace(
    resource: ResourceDescriptor,
    object: KubeObject,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const { metadata } = object;
    if (!metadata.resourceVersion) throw new RangeError("metadata.resourceVersion is required");
    return this.#write("replace", "update", resource, metadata, signal, () =>
      this.#server.replace(resource, object, this.#caller),
    );
  }

  patch(
    resource: ResourceDescriptor,
    ref: StateRef,
    patch: MergePatch,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    if (!ref.resourceVersion) throw new RangeError("resourceVersion is required");
    return this.#write("patch", "patch", resource, ref, signal, () =>
      this.#server.patch(resource, ref, patch, this.#caller),
    );
  }

  apply(
    resource: ResourceDescriptor,
    object: KubeObject,
    { fieldManager = this.#caller.fieldManager, force = false }: ApplyOptions,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const { metadata } = object;
    return this.#write(
      "apply",
      "patch",
      resource,
      metadata,
      signal,
      () => this.#server.apply(resource, object, { force }, { ...this.#caller, fieldManager }),
      fieldManager,
    );
  }

  replaceStatus(
    resource: ResourceDescriptor,
    ref: StateRef,
    status: object,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    return this.#write("update status of", "update", resource, ref, signal, () =>
      this.#server.replaceStatus(resource, ref, status, this.#caller),
    );
  }

  delete(resource: ResourceDescriptor, ref: StateRef, signal: AbortSignal): Promise<void> {
    return this.#write("delete", "delete", resource, ref, signal, () =>
      this.#server.delete(resource, ref, {}, this.#caller),
    );
  }

  requestToken(
    serviceAccount: ObjectRef,
    request: TokenRequest,
    signal: AbortSignal,
  ): Promise<Redacted<string>> {
    return this.#write("create", "create", SERVICE_ACCOUNT_TOKENS, serviceAccount, signal, () =>
      issueToken(this.#server, serviceAccount, request, this.#caller),
    );
  }

  #write<T>(
    name: string,
    verb: Verb,
    resource: ResourceDescriptor,
    ref: ObjectRef,
    signal: AbortSignal,
    act: () => T,
    manager = this.#caller.fieldManager,
  ): Promise<T> {
    const write = (): T => {
      const result = act();
      this.#recordTime(resource, result, manager);
      return result;
    };
    return this.#request(name, verb, resource, ref, signal, write, this.#fence);
  }

  async #request<T>(
    name: string,
    verb: Verb,
    resource: ResourceDescriptor,
    ref: Partial<ObjectRef>,
    signal: AbortSignal,
    act: () => T,
    fence?: WriteFence,
  ): Promise<T> {
    // The fence is checked by a process that runs, directly before it sends.
    await this.#network.running?.();
    signal.throwIfAborted();
    const operation = (): string =>
      `${name} ${resource.plural}${ref.name ? ` ${keyOf({ ...ref, name: ref.name })}` : ""}`;
    if (fence?.mayWrite() === false)
      throw new KubeError({ kind: "NotLeader", operation: operation() });
    const timeoutMs = Math.min(TIMEOUT_MS, fence?.writeTimeoutMs() ?? TIMEOUT_MS);
    const deadline: DeadlineOptions = [this.#server.clock, timeoutMs, signal];
    const request = new SentRequest(this.#caller.user, verb, resource, ref, deadline);
    try {
      await this.#network.send?.(request);
      const result = act();
      await this.#network.respond?.(request);
      return result;
    } catch (error) {
      if (request.expired)
        throw new KubeError({ kind: "Timeout", operation: operation(), reason: "Deadline" });
      throw this.#failure(error, operation());
    } finally {
      // A `using` declaration is slow.
      request.end();
    }
  }

  /** Returns an object with the time of its last write in its `managedFields`. */
  #managed(object: KubeObject): KubeObject {
    const at = writtenAt.get(object.metadata);
    const managedFields = [{ time: at === undefined ? undefined : timestampOf(at) }];
    return { ...object, metadata: { ...object.metadata, managedFields } };
  }

  #managersOf(resource: ResourceDescriptor, ref: ObjectRef): object[] {
    const collection = this.#server.collections.find(
      (one) => resourceKey(one.resource) === resourceKey(resource),
    );
    const stored = collection?.objects.get(keyOf(ref));
    const times = timesOf(this.#server);
    return managersIn(stored?.owners ?? new Map()).map((one) => {
      const time = times.get(`${stored?.object.metadata.uid} ${one.manager}`);
      return { ...one, ...(time !== undefined && { time: timestampOf(time) }) };
    });
  }

  /** Remembers when a manager wrote a Secret or ConfigMap last. */
  #recordTime({ group }: ResourceDescriptor, result: unknown, manager: string): void {
    if (group !== "" || typeof result !== "object" || result === null || !("metadata" in result))
      return;
    const { metadata } = result as KubeObject;
    timesOf(this.#server).set(`${metadata.uid} ${manager}`, this.#server.clock.now());
  }

  #failure(error: unknown, operation: string): unknown {
    if (!(error instanceof StatusError)) return error;
    return responseError({
      operation,
      status: error.code,
      body: error.body,
      auditId: "audit-id",
      now: this.#server.clock.now(),
    });
  }
}

type DeadlineOptions = ConstructorParameters<typeof Deadline>;

/**
 * A request in progress. Its deadline exists from the first read of its signal on: nothing waits for
 * another one. A class, because an object literal with a getter is slow to make.
 */
class SentRequest implements ApiRequest {
  readonly user: string;
  readonly verb: Verb;
  readonly resource: ResourceDescriptor;
  readonly ref: Partial<ObjectRef>;
  readonly #deadlineOptions: DeadlineOptions;
  #deadline: Deadline | undefined;

  constructor(
    user: string,
    verb: Verb,
    resource: ResourceDescriptor,
    ref: Partial<ObjectRef>,
    deadline: DeadlineOptions,
  ) {
    this.user = user;
    this.verb = verb;
    this.resource = resource;
    this.ref = ref;
    this.#deadlineOptions = deadline;
  }

  get signal(): AbortSignal {
    this.#deadline ??= new Deadline(...this.#deadlineOptions);
    return this.#deadline.signal;
  }

  get expired(): boolean {
    return this.#deadline?.expired ?? false;
  }

  end(): void {
    this.#deadline?.[Symbol.dispose]();
  }
}

function metadataOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata };
}
