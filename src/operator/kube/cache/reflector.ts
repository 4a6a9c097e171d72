import { Backoff } from "../../../lib/backoff.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import { Deadline } from "../../../lib/deadline.ts";
import { isKubeError, KubeError } from "../kube-error.ts";
import type { KubeApi, ListOptions, WatchEvent } from "../client/kube-api.ts";
import { keyOf, type KubeObject, type ResourceDescriptor } from "../resource.ts";
import { Store, type ReadonlyStore, type StoreChange, type Stored } from "./object-store.ts";

export interface ReflectorOptions<T> {
  readonly api: KubeApi;
  readonly resource: ResourceDescriptor;
  /** One namespace, or `ALL_NAMESPACES`. */
  readonly namespace: string;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly metadataOnly?: boolean | undefined;
  /**
   * What is kept of an object (`wholeObject` keeps all); what it drops costs no memory. Where it throws, what was kept before stays.
   */
  readonly project: (object: KubeObject) => T;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The projection that keeps everything. */
export const wholeObject = (object: KubeObject): KubeObject => object;

/** Where a reflector stands; it goes from each state to the next, and back after a failure. */
export type ReflectorState =
  /** Nothing to go on from: a list is due. The store keeps what it has. */
  | { readonly name: "Empty" }
  | { readonly name: "Listing" }
  /** The store is whole up to this version: a watch is due. */
  | { readonly name: "Listed"; readonly resourceVersion: string }
  | { readonly name: "Watching"; readonly resourceVersion: string };

/** client-go's range of a watch's length, at random so that not all end together. */
const WATCH_SECONDS = { shortest: 300, longest: 600 };
/** A server that has sent a bookmark sends one a minute: three missing, and nobody is there. */
const SILENCE_AFTER_BOOKMARK_MS = 180_000;
/** A watch that ends sooner without having told anything counts as failed, so that it is not begun again in a tight loop. */
const SHORT_WATCH_MS = 1_000;
/** `Backoff` waits between half and the whole: 0.8 … 30 s (design: kube-facts). */
const BACKOFF = { baseMs: 1_600, maxMs: 30_000 };

/**
 * Keeps a store equal to a collection of the API server: lists it, then watches it.
 *
 * Guarantees: no error, not even a handler's, ends it; after a drop it goes on from the last version seen; a version that is too old
 * (410) makes it list again, and the difference, deletions too, is told; a new object under an old name is a deletion and an addition;
 * one that did not change is not told again. Until the first list, and while the server is away, the store is what it was.
 */
export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #store = new Store<T>();
  readonly #handlers = new Set<(change: StoreChange<T>) => void>();
  readonly #synced = Promise.withResolvers<void>();
  readonly #backoff: Backoff;
  readonly #log: Logger;
  #state: ReflectorState = { name: "Empty" };

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#backoff = new Backoff(BACKOFF, options.random);
    this.#log = options.logger.child({ resource: options.resource.plural });
    // Whoever awaits it learns of the rejection; where nobody does, it is no news.
    this.#synced.promise.catch(() => undefined);
  }

  get store(): ReadonlyStore<T> {
    return this.#store;
  }

  get state(): ReflectorState {
    return this.#state;
  }

  /** Resolves once the first list is in the store and told; rejects with the signal's reason when `run` was stopped before. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Tells every change once it is in the store, in order. What is already there is not told again. */
  onChange(handler: (change: StoreChange<T>) => void): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
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
        this.#state = { name: "Watching", resourceVersion: state.resourceVersion };
        return;
      case "Watching":
        await this.#watch(state.resourceVersion, signal);
        this.#state = interrupted(this.#state);
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
    }
    this.#tell(this.#store.replaceAll(next));
    this.#log.debug({ objects: next.size, resourceVersion }, "listed");
    return resourceVersion;
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { api, resource, clock, random } = this.#options;
    const { shortest, longest } = WATCH_SECONDS;
    const timeoutSeconds = shortest + Math.floor(random() * (longest - shortest + 1));
    let silenceMs = (timeoutSeconds + 5) * 1_000;
    using silence = new Deadline(clock, silenceMs, signal);
    const begun = clock.monotonic();
    const options = { ...this.#scope(), resourceVersion: from, timeoutSeconds };
    let told = false;
    for await (const event of api.watch(resource, options, silence.signal)) {
      if (event.type === "bookmark") silenceMs = Math.min(silenceMs, SILENCE_AFTER_BOOKMARK_MS);
      silence.restart(silenceMs);
      this.#follow(event);
      this.#backoff.reset();
      told = true;
    }
    if (!told && clock.monotonic() - begun < SHORT_WATCH_MS) {
      throw new KubeError({ kind: "Unavailable", operation: `watch ${resource.plural}`, reason: "ShortWatch" });
    }
  }

  #follow(event: WatchEvent): void {
    const resourceVersion = event.type === "bookmark" ? event.resourceVersion : event.object.metadata.resourceVersion;
    if (event.type !== "bookmark") {
      const { object } = event;
      const key = keyOf(object.metadata);
      if (event.type === "deleted") this.#tell(this.#store.delete(key, object.metadata.uid));
      else {
        const stored = this.#project(key, object);
        if (stored) this.#tell(this.#store.set(key, stored));
      }
    }
    if (resourceVersion !== undefined) this.#state = { name: "Watching", resourceVersion };
  }

  /** What is to be kept of the object; what is already kept of it, if anything, where the projection throws. */
  #project(key: string, object: KubeObject): Stored<T> | undefined {
    const { uid, resourceVersion } = object.metadata;
    try {
      return { uid, resourceVersion, value: this.#options.project(object) };
    } catch (error) {
      this.#log.error({ key, error: nameOf(error) }, "skipping object: projection failed");
      return this.#store.stored(key);
    }
  }

  #tell(changes: readonly StoreChange<T>[]): void {
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

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    this.#state = isKubeError(error, "Gone") ? { name: "Empty" } : interrupted(this.#state);
    const asked = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(asked, this.#backoff.next());
    const reason = isKubeError(error) ? error.message : nameOf(error);
    this.#log.warn(
      { reason, next: this.#state.name, failures: this.#backoff.failures, delayMs: Math.round(delayMs) },
      "list or watch failed, retrying",
    );
    await this.#options.clock.sleep(delayMs, signal).catch(() => undefined);
  }

  #scope(): ListOptions {
    const { namespace, labelSelector, fieldSelector, metadataOnly } = this.#options;
    return { namespace, labelSelector, fieldSelector, metadataOnly };
  }
}

/** Where to go on from after a list or a watch that broke. */
function interrupted(state: ReflectorState): ReflectorState {
  return "resourceVersion" in state ? { name: "Listed", resourceVersion: state.resourceVersion } : { name: "Empty" };
}

/** Not the message: whoever wrote that may have quoted the object. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
