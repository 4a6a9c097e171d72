import { Backoff } from "../../../lib/backoff.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { jitter, type Random } from "../../../lib/random.ts";
import { Deadline } from "../../lib/deadline.ts";
import { reuseEqual } from "../../lib/reuse-equal.ts";
import { isKubeError, KubeError } from "../kube-error.ts";
import type { KubeApi, ListOptions, WatchEvent } from "../client/kube-api.ts";
import { ALL_NAMESPACES, keyOf, type KubeObject, type ResourceDescriptor } from "../resource.ts";
import type { RequestProblems } from "../request-problems.ts";
import {
  type IndexOf,
  ObjectStore,
  type ReadonlyStore,
  type StoreChange,
  type Stored,
} from "./object-store.ts";

export interface ReflectorOptions<T> {
  readonly api: KubeApi;
  readonly resource: ResourceDescriptor;
  /** One namespace, or `ALL_NAMESPACES`. */
  readonly namespace: string;
  /** An API server that does not serve the resource has no object of it: that is no failure. */
  readonly optional?: boolean | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly metadataOnly?: boolean | undefined;
  /** The projection needs the `managedFields` of the objects. */
  readonly managedFields?: boolean | undefined;
  /**
   * Time in milliseconds after which the collection is listed again, to repair what a watch has
   * lost; 0 turns it off.
   */
  readonly relistMs?: number | undefined;
  /** Returns the part of an object to store. If it throws, the stored value remains unchanged. */
  readonly project: (object: KubeObject) => T;
  readonly indexOf?: IndexOf<T> | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Receives the failures of all reflectors, for the log. */
  readonly problems?: RequestProblems | undefined;
}

/**
 * The state of a reflector: advances from one state to the next, and returns to an earlier one
 * after a failure.
 */
export type ReflectorState =
  /** There is no version to continue from, so a list is due. The store keeps its content. */
  | { readonly name: "Empty" }
  | { readonly name: "Listing" }
  /** The store is complete up to this version, so a watch is due. */
  | { readonly name: "Listed"; readonly resourceVersion: string }
  | { readonly name: "Watching"; readonly resourceVersion: string };

/** Range of a watch's random duration, as in client-go, to keep watches from ending together. */
const WATCH_SECONDS = { shortest: 300, longest: 600 };
/**
 * A server that has sent a bookmark sends one a minute; after three missing ones the connection
 * counts as dead.
 */
const SILENCE_AFTER_BOOKMARK_MS = 180_000;
/** Shortest duration of a watch that ends when a list is due, in seconds. */
const MIN_WATCH_SECONDS = 5;
/** A watch that ends sooner without an event counts as failed, to prevent a tight loop. */
const SHORT_WATCH_MS = 1_000;
/**
 * Delays of 0.8 … 30 s as in client-go, because `Backoff` waits between half and the whole of
 * these.
 */
const BACKOFF = { baseMs: 1_600, maxMs: 30_000 };

/**
 * Failures after which no watch can continue from the last version. A reader that skips an
 * unreadable event misses it.
 */
const LIST_AGAIN = ["Gone", "Unexpected", "NotServed", "NotFound"] as const;

/**
 * Keeps a store equal to a collection of the API server: lists it, then watches it.
 *
 * Guarantees:
 * - No error ends it, not even one of a handler.
 * - After a disconnect it resumes from the last version seen.
 * - When that version is too old (410), or an event is unreadable, it lists again and reports the
 *   differences, deletions included.
 * - After `relistMs` it lists again too, because an event that a server or a proxy lost is never
 *   repeated.
 * - When the server no longer serves the resource, or the namespace does not exist, it reports all
 *   objects as deleted: no later event does.
 * - A new object under an old name is reported as a deletion and an addition; an unchanged object
 *   is not reported.
 * - Until the first list, and while the server is unavailable or denies it, the store is unchanged.
 */
export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #store: ObjectStore<T>;
  readonly #handlers = new Set<(change: StoreChange<T>) => void>();
  readonly #reconnectHandlers = new Set<() => void>();
  readonly #synced = Promise.withResolvers<void>();
  readonly #backoff: Backoff;
  readonly #log: Logger;
  #state: ReflectorState = { name: "Empty" };
  #disconnected = false;
  /** Monotonic time from which the next list is due. */
  #relistAt = Infinity;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#store = new ObjectStore(options.indexOf);
    this.#backoff = new Backoff(BACKOFF, options.random);
    this.#log = options.logger.child({ resource: options.resource.plural });
    // Prevents an unhandled rejection when no caller awaits `synced`.
    this.#synced.promise.catch(() => undefined);
  }

  get store(): ReadonlyStore<T> {
    return this.#store;
  }

  get state(): ReflectorState {
    return this.#state;
  }

  /**
   * Resolves once the first list is stored and reported; rejects with the signal's reason when
   * `run` was stopped before.
   */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /**
   * Reports every change in order, after it is stored. The existing content of the store is not
   * reported.
   */
  onChange(handler: (change: StoreChange<T>) => void): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
  }

  /** Calls the handler when the first list or watch after a failure succeeds. */
  onReconnect(handler: () => void): Disposable {
    this.#reconnectHandlers.add(handler);
    return { [Symbol.dispose]: () => void this.#reconnectHandlers.delete(handler) };
  }

  /** Lists and watches until the signal is aborted; then resolves. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#step(signal);
      } catch (error) {
        if (!signal.aborted) await this.#recover(error, signal);
      }
    }
    this.#synced.reject(signal.reason);
  }

  async #step(signal: AbortSignal): Promise<void> {
    const state = this.#state;
    switch (state.name) {
      case "Empty":
        this.#state = { name: "Listing" };
        return;
      case "Listing":
        this.#state = { name: "Listed", resourceVersion: await this.#list(signal) };
        this.#synced.resolve();
        return;
      case "Listed":
        this.#state =
          this.#secondsToList() <= 0
            ? { name: "Empty" }
            : { name: "Watching", resourceVersion: state.resourceVersion };
        return;
      case "Watching":
        await this.#watch(state.resourceVersion, signal);
        this.#state = resumeState(this.#state);
    }
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { api, resource } = this.#options;
    const next = new Map<string, Stored<T>>();
    let resourceVersion = "";
    for await (const page of api.list(resource, this.#scope(), signal)) {
      resourceVersion = page.resourceVersion;
      for (const object of page.items) {
        const key = keyOf(object.metadata);
        const stored = this.#project(key, object);
        if (stored) next.set(key, stored);
      }
      for (const object of page.deleted ?? []) next.delete(keyOf(object.metadata));
    }
    this.#reconnected();
    this.#notify(this.#store.replaceAll(next));
    this.#relistAt = this.#nextRelist();
    this.#log.debug({ objects: next.size, resourceVersion }, "listed");
    return resourceVersion;
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { api, resource, clock, random } = this.#options;
    const { shortest, longest } = WATCH_SECONDS;
    const lasting = shortest + Math.floor(random() * (longest - shortest + 1));
    const timeoutSeconds = Math.min(
      lasting,
      Math.max(MIN_WATCH_SECONDS, Math.ceil(this.#secondsToList())),
    );
    let silenceMs = (timeoutSeconds + 5) * 1_000;
    using silence = new Deadline(clock, silenceMs, signal);
    const startedAt = clock.monotonic();
    const onOpen = (): void => this.#reconnected();
    const options = { ...this.#scope(), resourceVersion: from, timeoutSeconds, onOpen };
    let received = false;
    for await (const event of api.watch(resource, options, silence.signal)) {
      if (event.type === "bookmark") silenceMs = Math.min(silenceMs, SILENCE_AFTER_BOOKMARK_MS);
      silence.restart(silenceMs);
      this.#applyEvent(event);
      this.#backoff.reset();
      received = true;
    }
    if (!received && clock.monotonic() - startedAt < SHORT_WATCH_MS) {
      throw new KubeError({
        kind: "Unavailable",
        operation: `watch ${resource.plural}`,
        reason: "ShortWatch",
      });
    }
  }

  /** Returns a random time around `relistMs` from now, to spread the lists of many collections. */
  #nextRelist(): number {
    const { clock, random, relistMs = 0 } = this.#options;
    return relistMs > 0 ? clock.monotonic() + jitter(random, relistMs, 0.1) : Infinity;
  }

  #secondsToList(): number {
    return (this.#relistAt - this.#options.clock.monotonic()) / 1_000;
  }

  #applyEvent(event: WatchEvent): void {
    const resourceVersion =
      event.type === "bookmark" ? event.resourceVersion : event.object.metadata.resourceVersion;
    if (event.type !== "bookmark") {
      const { object } = event;
      const key = keyOf(object.metadata);
      if (event.type === "deleted") this.#notify(this.#store.delete(key, object.metadata.uid));
      else {
        const stored = this.#project(key, object);
        if (stored) this.#notify(this.#store.set(key, stored));
      }
    }
    if (resourceVersion !== undefined) this.#state = { name: "Watching", resourceVersion };
  }

  /** Returns the projected object; if the projection throws, the value stored before, if any. */
  #project(key: string, object: KubeObject): Stored<T> | undefined {
    const before = this.#store.stored(key);
    const { uid, resourceVersion } = object.metadata;
    try {
      return reuseEqual(before, { uid, resourceVersion, value: this.#options.project(object) });
    } catch (error) {
      this.#log.error({ key, error: nameOf(error) }, "skipping object: projection failed");
      return before;
    }
  }

  #notify(changes: readonly StoreChange<T>[]): void {
    for (const change of changes) {
      for (const handler of this.#handlers) {
        try {
          handler(change);
        } catch (error) {
          this.#log.error({ key: change.key, error: nameOf(error) }, "change handler failed");
        }
      }
    }
  }

  #reconnected(): void {
    if (!this.#disconnected) return;
    this.#disconnected = false;
    this.#options.problems?.recovered(this);
    for (const handler of this.#reconnectHandlers) handler();
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { resource, namespace, optional = false } = this.#options;
    this.#disconnected = true;
    // Without a namespace, "not found" says nothing that a gateway in front of the API server could
    // not say.
    const isGone =
      isKubeError(error, "NotServed") ||
      (namespace !== ALL_NAMESPACES && isKubeError(error, "NotFound"));
    if (isGone) this.#notify(this.#store.replaceAll(new Map()));
    this.#state = isKubeError(error, ...LIST_AGAIN) ? { name: "Empty" } : resumeState(this.#state);
    const requestedMs = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(requestedMs, this.#backoff.next());
    const reason = isKubeError(error) ? error.message : nameOf(error);
    if (optional && isKubeError(error, "NotServed")) this.#synced.resolve();
    else this.#options.problems?.failed(this, { resource: resource.plural, namespace }, error);
    this.#log.debug(
      {
        reason,
        next: this.#state.name,
        failures: this.#backoff.failures,
        delayMs: Math.round(delayMs),
      },
      "list or watch failed, retrying",
    );
    await this.#options.clock.sleep(delayMs, signal).catch(() => undefined);
  }

  #scope(): ListOptions {
    const { namespace, labelSelector, fieldSelector, metadataOnly, managedFields } = this.#options;
    return { namespace, labelSelector, fieldSelector, metadataOnly, managedFields };
  }
}

/** Returns the state from which to continue after a list or watch failed. */
function resumeState(state: ReflectorState): ReflectorState {
  return "resourceVersion" in state
    ? { name: "Listed", resourceVersion: state.resourceVersion }
    : { name: "Empty" };
}

/** Returns the error's name without its message, because the message may quote the object. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
