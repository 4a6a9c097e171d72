import { Backoff } from "../../../lib/backoff.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Random } from "../../../lib/random.ts";
import type { ListProgress } from "../connection.ts";
import type { ResponseBodyMemory, ResponseMemory } from "../http/response-memory.ts";
import type { ListRequest, ListResponse, VaultApi } from "../vault-api.ts";
import { ListFollower, MIN_GAP_MS, type ListResult } from "./list-follower.ts";
import { readListAside } from "./list-reader.ts";
import type { TrackedList } from "./list-snapshot.ts";
import type { EntryOf, ListKind } from "./read-list.ts";

/** Time in ms to wait after `deleteAt`: the list then no longer contains the removed secret. */
const REMOVAL_MARGIN_MS = 20;

export interface MirroredListOptions {
  readonly api: VaultApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly intervalMs: number;
  /** Asks the vault to hold requests until the list changes. */
  readonly wait: boolean;
  /** The one who waits for long lists of this connection; see `tenantOf`. */
  readonly tenant: string;
  readonly listMemory: ResponseMemory;
}

export interface ListEvents {
  /** Called after each list. Returns whether it differs in a referenced name. */
  readonly onListed: () => boolean;
  readonly onFailure: (error: unknown) => void;
}

interface Cached<T> {
  readonly list: TrackedList<T>;
  readonly etag: string | undefined;
  /** Wall-clock times in ascending order at which the vault removes entries. */
  readonly deadlines: readonly number[];
}

interface Waiter {
  readonly fromRequest: number;
  /** `undefined`: the list succeeded. */
  readonly ended: (error: unknown) => void;
}

/** Keeps the referenced entries of the latest complete list of one kind. */
export class MirroredList<K extends ListKind> implements AsyncDisposable {
  readonly #kind: K;
  readonly #options: MirroredListOptions;
  readonly #events: ListEvents;
  readonly #follower: ListFollower;
  readonly #memory: ResponseBodyMemory;
  readonly #removalRetry: Backoff;
  #names: ReadonlySet<string>;
  #cached: Cached<EntryOf[K]> | undefined;
  /** Number of requests so far, and who waits for the end of a later one. */
  #requests = 0;
  readonly #waiters = new Set<Waiter>();
  /** Arrival of the last response, on the wall clock and on the monotonic clock. */
  listedAt = 0;
  listedAtMonotonic = 0;
  #previousAt = Number.NEGATIVE_INFINITY;
  #lists = 0;

  /** @param names the referenced names; the set must not change */
  constructor(
    kind: K,
    names: ReadonlySet<string>,
    options: MirroredListOptions,
    events: ListEvents,
  ) {
    const { clock, random, intervalMs, wait } = options;
    const onFailure = (error: unknown): void => {
      events.onFailure(error);
      this.#endRequest(error);
    };
    this.#kind = kind;
    this.#names = names;
    this.#options = options;
    this.#events = events;
    this.#memory = options.listMemory.of(options.tenant, kind);
    this.#removalRetry = new Backoff({ baseMs: 1_000, maxMs: intervalMs }, random);
    const list = (waitSeconds: number | undefined, signal: AbortSignal): Promise<ListResult> =>
      this.#request(waitSeconds, signal);
    this.#follower = new ListFollower({ clock, random, intervalMs, wait, list, onFailure });
  }

  /** `undefined` before the first list. */
  get list(): TrackedList<EntryOf[K]> | undefined {
    return this.#cached?.list;
  }

  get progress(): ListProgress {
    return { lists: this.#lists, at: this.listedAtMonotonic, previousAt: this.#previousAt };
  }

  /** Time in ms until the next list. */
  get nextInMs(): number {
    return this.#follower.nextInMs;
  }

  /** Replaces the referenced names, and lists again if the last list does not cover one of them. */
  setNames(names: ReadonlySet<string>): void {
    const before = this.#names;
    this.#names = names;
    // A list that was requested for the same names must not be requested again for each failure on
    // its way.
    if (names.size === before.size && [...names].every((name) => before.has(name))) return;
    if (this.#cached && !this.#isCovered(this.#cached)) this.#follower.soon();
  }

  soon(): void {
    this.#follower.soon();
  }

  /**
   * Resolves after a list that is requested after this call. @throws the error of that list, or the
   * signal's reason
   */
  async listAgain(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = {
      fromRequest: this.#requests + 1,
      ended: (error) => (error === undefined ? resolve() : reject(error)),
    };
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    this.#waiters.add(waiter);
    this.#follower.soon();
    try {
      await promise;
    } finally {
      this.#waiters.delete(waiter);
      signal.removeEventListener("abort", abort);
    }
  }

  retryNow(): void {
    this.#follower.retryNow();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#follower[Symbol.asyncDispose]();
  }

  async #request(waitSeconds: number | undefined, signal: AbortSignal): Promise<ListResult> {
    const { clock } = this.#options;
    const before = this.#cached;
    this.#requests += 1;
    // "Not modified" says nothing about names that the last list was not searched for.
    const etag = before && this.#isCovered(before) ? before.etag : undefined;
    const ask = etag === undefined ? undefined : waitSeconds;
    const response = await this.#list({ etag, waitSeconds: ask, signal });
    signal.throwIfAborted();
    if (this.#lists > 0) this.#previousAt = this.listedAtMonotonic;
    this.listedAt = clock.now();
    this.listedAtMonotonic = clock.monotonic();
    this.#lists += 1;
    const changed = this.#events.onListed();
    this.#endRequest(undefined);
    return {
      hasBody: response.body !== undefined,
      changed,
      hasTag: this.#cached?.etag !== undefined,
      holds: ask === undefined ? undefined : response.held,
      dueInMs: this.#untilKnownChange(),
    };
  }

  #endRequest(error: unknown): void {
    for (const { fromRequest, ended } of this.#waiters)
      if (fromRequest <= this.#requests) ended(error);
  }

  /** Requests a list and reads it: both take memory. */
  async #list(
    request: Pick<ListRequest, "etag" | "waitSeconds" | "signal">,
  ): Promise<ListResponse> {
    const { api, listMemory } = this.#options;
    try {
      const response = await api.list(this.#kind, {
        ...request,
        maxBytes: listMemory.maxBytes,
        memory: this.#memory,
      });
      if (response.body) this.#cached = await this.#read(response.body, response);
      return response;
    } finally {
      this.#memory.release();
    }
  }

  /** @throws UnexpectedResponse, ListTooLongError */
  async #read(body: Uint8Array, { etag, admitted }: ListResponse): Promise<Cached<EntryOf[K]>> {
    // Secrets only: files are not limited by a scope.
    const limit = this.#kind === "list_no_dup" ? admitted : undefined;
    const tracked = limit
      ? new Set([...this.#names].filter((name) => limit.has(name)))
      : this.#names;
    const { tenant, listMemory } = this.#options;
    const list = await readListAside(
      this.#kind,
      { body, tracked, maxBytes: listMemory.maxBytes },
      tenant,
    );
    return { list, etag, deadlines: deadlinesOf(list) };
  }

  #isCovered({ list: { tracked } }: Cached<EntryOf[K]>): boolean {
    if (tracked === this.#names) return true;
    for (const name of this.#names) if (!tracked.has(name)) return false;
    return true;
  }

  /**
   * Returns the time in ms until a list that is due before the interval ends: immediately for names
   * that are not covered, after the next removal, or with backoff while an entry outlives its own.
   */
  #untilKnownChange(): number | undefined {
    const { clock, intervalMs } = this.#options;
    if (!this.#cached || !this.#isCovered(this.#cached)) return 0;
    const now = clock.now();
    const [first = Number.POSITIVE_INFINITY] = this.#cached.deadlines;
    const next =
      this.#cached.deadlines.find((deadline) => deadline > now) ?? Number.POSITIVE_INFINITY;
    const overdue = first <= now;
    if (!overdue) this.#removalRetry.reset();
    const wait = Math.min(
      next - now + REMOVAL_MARGIN_MS,
      overdue ? this.#removalRetry.next() : Number.POSITIVE_INFINITY,
    );
    return Number.isFinite(wait) ? Math.max(MIN_GAP_MS, intervalMs / 10, wait) : undefined;
  }
}

function deadlinesOf(list: TrackedList<EntryOf[ListKind]>): readonly number[] {
  const deadlines: number[] = [];
  for (const records of list.records.values()) {
    for (const record of records)
      if ("deleteAt" in record && record.deleteAt !== undefined) deadlines.push(record.deleteAt);
  }
  return deadlines.sort((a, b) => a - b);
}
