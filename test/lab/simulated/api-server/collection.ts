import type { Clock, Timer } from "../../../../src/lib/clock.ts";
import type { WatchEvent, WatchOptions } from "../../../../src/operator/kube/client/kube-api.ts";
import {
  type KubeObject,
  keyOf,
  type ResourceDescriptor,
} from "../../../../src/operator/kube/resource.ts";
import type { Owners } from "./field-ownership.ts";
import { selectorOf } from "./selector.ts";
import { gone, type StatusError } from "./status-error.ts";

export interface Stored {
  readonly object: KubeObject;
  readonly owners: Owners;
}

/** One committed write: `before` is absent for a creation, `after` for a removal. */
export interface Change {
  readonly resource: ResourceDescriptor;
  readonly version: number;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
  /** The name of the client that sent the write; `system` for the controllers of the cluster. */
  readonly user: string;
}

/** Interval of bookmarks in milliseconds. */
const BOOKMARK_MS = 60_000;

/** The objects of one resource, their history, and the watches on them. */
export class Collection {
  readonly resource: ResourceDescriptor;
  readonly objects = new Map<string, Stored>();
  readonly watches = new Set<OpenWatch>();
  readonly #maxHistory: number;
  #history: Change[] = [];
  /** The objects by their keys; `undefined` after a write. */
  #inOrder: readonly KubeObject[] | undefined;
  /** A watch can continue from this version at the earliest. */
  #oldest: number;

  constructor(resource: ResourceDescriptor, version: number, maxHistory: number) {
    this.resource = resource;
    this.#oldest = version;
    this.#maxHistory = maxHistory;
  }

  /** The objects in the order of a list. */
  get inOrder(): readonly KubeObject[] {
    this.#inOrder ??= [...this.objects]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { object }]) => object);
    return this.#inOrder;
  }

  commit(change: Change, stored: Stored | undefined): void {
    const key = keyOf((change.after ?? change.before)!.metadata);
    if (stored) this.objects.set(key, stored);
    else this.objects.delete(key);
    this.#inOrder = undefined;
    this.#history.push(change);
    if (this.#history.length > 2 * this.#maxHistory)
      this.#forget(this.#history.length - this.#maxHistory);
    for (const watch of this.watches) watch.deliver(change);
  }

  /** Forgets the history: a watch from before now fails with 410, as after a compaction. */
  compact(version: number): void {
    this.#history = [];
    this.#oldest = version;
  }

  /**
   * Opens a watch. @throws StatusError 410 when the history no longer reaches back to the version
   */
  watch(
    options: WatchOptions,
    clock: Clock,
    version: number,
    lagMs: number,
    client: string,
  ): OpenWatch {
    const watch = new OpenWatch(this, options, clock, version, lagMs, client);
    const from = Number(options.resourceVersion);
    if (from === 0) {
      for (const { object } of this.objects.values()) {
        watch.deliver({
          resource: this.resource,
          version,
          before: undefined,
          after: object,
          user: "",
        });
      }
    } else {
      if (from < this.#oldest) throw gone();
      for (const change of this.#history) if (change.version > from) watch.deliver(change);
    }
    this.watches.add(watch);
    return watch;
  }

  #forget(count: number): void {
    this.#oldest = this.#history[count - 1]!.version;
    this.#history.splice(0, count);
  }
}

/** One watch of one client. A test can delay, drop or silence it, or make it repeat events. */
export class OpenWatch {
  readonly client: string;
  readonly resource: ResourceDescriptor;
  /** Time between a change and its event, in milliseconds. */
  lagMs: number;
  readonly #collection: Collection;
  readonly #options: WatchOptions;
  readonly #selects: (object: KubeObject) => boolean;
  readonly #clock: Clock;
  readonly #timers = new Set<Timer>();
  readonly #queue: WatchEvent[] = [];
  #version: number;
  #lastDueAt = 0;
  #wake: (() => void) | undefined;
  #isSilent = false;
  #end: { readonly error?: StatusError | undefined } | undefined;

  constructor(
    collection: Collection,
    options: WatchOptions,
    clock: Clock,
    version: number,
    lagMs: number,
    client: string,
  ) {
    this.#collection = collection;
    this.resource = collection.resource;
    this.#options = options;
    this.#selects = selectorOf(options);
    this.#clock = clock;
    this.#version = version;
    this.lagMs = lagMs;
    this.client = client;
    this.#schedule(options.timeoutSeconds * 1_000, () => this.drop());
    this.#bookmarkLater();
  }

  deliver(change: Change): void {
    this.#version = change.version;
    const event = this.#eventOf(change);
    if (event) this.#push(event);
  }

  /** Ends the watch: without an error as when the server closes it between two events. */
  drop(error?: StatusError): void {
    this.#end ??= { error };
    this.#collection.watches.delete(this);
    this.#wake?.();
  }

  /** Delivers nothing from now on, as a half-open connection. */
  silence(): void {
    this.#isSilent = true;
  }

  /** Delivers the newest undelivered event twice. Reports whether there was one. */
  repeat(): boolean {
    const last = this.#queue.at(-1);
    if (last) this.#queue.push(last);
    return last !== undefined;
  }

  /** Yields events until the watch ends; then releases its timers. */
  async *events(signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const abort = (): void => this.#wake?.();
    signal.addEventListener("abort", abort);
    try {
      for (;;) {
        signal.throwIfAborted();
        const event = this.#isSilent ? undefined : this.#queue.shift();
        if (event) yield event;
        else if (this.#end?.error && !this.#isSilent) throw this.#end.error;
        else if (this.#end && !this.#isSilent) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal.removeEventListener("abort", abort);
      this.#collection.watches.delete(this);
      for (const timer of this.#timers) timer[Symbol.dispose]();
    }
  }

  #eventOf({ before, after, version }: Change): WatchEvent | undefined {
    const was = before !== undefined && this.#selects(before);
    const is = after !== undefined && this.#selects(after);
    if (is) return { type: was ? "modified" : "added", object: this.#projected(after) };
    if (!was) return undefined;
    const metadata = { ...before.metadata, resourceVersion: `${version}` };
    return { type: "deleted", object: this.#projected({ ...before, metadata }) };
  }

  #projected(object: KubeObject): KubeObject {
    if (!this.#options.metadataOnly) return object;
    const { apiVersion, kind, metadata } = object;
    return { apiVersion, kind, metadata };
  }

  #push(event: WatchEvent): void {
    const dueAt = Math.max(this.#clock.monotonic() + this.lagMs, this.#lastDueAt);
    const delay = dueAt - this.#clock.monotonic();
    this.#lastDueAt = dueAt;
    const push = (): void => {
      this.#queue.push(event);
      this.#wake?.();
    };
    if (delay > 0) this.#schedule(delay, push);
    else push();
  }

  #bookmarkLater(): void {
    this.#schedule(BOOKMARK_MS, () => {
      this.#push({ type: "bookmark", resourceVersion: `${this.#version}` });
      this.#bookmarkLater();
    });
  }

  #schedule(ms: number, fire: () => void): void {
    const timer = this.#clock.timer(ms, () => {
      this.#timers.delete(timer);
      fire();
    });
    this.#timers.add(timer);
  }
}
