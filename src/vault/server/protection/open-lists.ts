import type { Clock } from "../../../lib/clock.ts";
import type { FastifyReply } from "fastify";
import { errors } from "../errors.ts";
import { whenClosed } from "../http/read-in-time.ts";
import { Slots } from "../../../lib/slots.ts";

interface OpenListsOptions {
  readonly clock: Clock;
  readonly limits: {
    readonly listBytes: number;
    readonly listsPerAccount: number;
    readonly queuedLists: number;
    readonly queuedListsPerAccount: number;
    readonly listTimeoutMs: number;
  };
  readonly metrics: { readonly openListBytes: { set(value: number): void } };
}

/** Bytes of the first list of an account that are admitted whatever other accounts have open. */
const SHORT_BYTES = 256 * 1024;
/** Bytes that a streamed list takes: the page that is sent, and the next one. */
const STREAM_BYTES = 1024 * 1024;

/** A place among the open lists. Disposing it, also repeatedly, gives it back. */
export interface ListPlace extends Disposable {
  /**
   * Counts as many bytes for the list, or returns false, and changes nothing, when they do not fit.
   */
  resize(bytes: number): boolean;
}

/** A list that waits for its place. */
interface Queued {
  readonly bytes: number;
  readonly admit: (place: ListPlace) => void;
}

/**
 * Lists whose bodies this process keeps in memory while clients read them: a few of each account,
 * and bytes in total. Further lists wait for a limited time, and accounts take turns.
 */
export class OpenLists {
  readonly #clock: Clock;
  readonly #limits: OpenListsOptions["limits"];
  readonly #metric: OpenListsOptions["metrics"]["openListBytes"];
  readonly #open = new Map<string, number>();
  /** Waiting lists by account, in the order of their turns. */
  readonly #queues = new Map<string, Set<Queued>>();
  #queued = 0;
  #bytes = 0;

  constructor({ clock, limits, metrics }: OpenListsOptions) {
    this.#clock = clock;
    this.#limits = limits;
    this.#metric = metrics.openListBytes;
  }

  /**
   * Resolves with a place for a list of an account that takes these bytes.
   * @throws ServiceError `rate_limited` when too many wait, or no place became free in time
   */
  async enter(email: string, bytes: number): Promise<ListPlace> {
    const { listBytes, queuedLists, queuedListsPerAccount, listTimeoutMs } = this.#limits;
    const needed = Math.min(bytes, listBytes);
    if (this.#isFirstShort(email, needed)) return this.#admit(email, needed);
    const queue = this.#queues.get(email) ?? new Set<Queued>();
    if (this.#queued >= queuedLists || queue.size >= queuedListsPerAccount)
      throw errors.tooManyLists(listTimeoutMs, email);
    const { promise, resolve, reject } = Promise.withResolvers<ListPlace>();
    const entry: Queued = { bytes: needed, admit: resolve };
    this.#queues.set(email, queue.add(entry));
    this.#queued += 1;
    this.#admitNext();
    using _timer = this.#clock.timer(listTimeoutMs, () => {
      if (this.#dequeue(email, entry)) reject(errors.tooManyLists(listTimeoutMs, email));
    });
    return await promise;
  }

  /**
   * Resolves with a place for a streamed list of an account, until its response has been read.
   * @throws ServiceError `rate_limited`
   */
  async enterStream(email: string, reply: FastifyReply, bytes = STREAM_BYTES): Promise<void> {
    const place = await this.enter(email, bytes);
    whenClosed(reply, () => place[Symbol.dispose]());
  }

  /**
   * Resolves with a place for a response in memory with all members of a team, or all senders that
   * a user blocks. Call it before a change: a request that is rejected has changed nothing.
   * @throws ServiceError `rate_limited`
   */
  enterShort(email: string, reply: FastifyReply): Promise<void> {
    return this.enterStream(email, reply, SHORT_BYTES);
  }

  /** Other accounts cannot delay such a list. */
  #isFirstShort(email: string, bytes: number): boolean {
    return bytes <= SHORT_BYTES && !this.#open.has(email);
  }

  #admit(email: string, bytes: number): ListPlace {
    let counted = bytes;
    this.#open.set(email, (this.#open.get(email) ?? 0) + 1);
    this.#count(bytes);
    let open = true;
    return {
      resize: (to) => {
        const more = to - counted;
        if (!open || (more > 0 && this.#bytes + more > this.#limits.listBytes)) return false;
        counted = to;
        this.#count(more);
        if (more < 0) this.#admitNext();
        return true;
      },
      [Symbol.dispose]: () => {
        if (!open) return;
        open = false;
        this.#leave(email, counted);
      },
    };
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#metric.set(this.#bytes);
  }

  #leave(email: string, bytes: number): void {
    const own = (this.#open.get(email) ?? 1) - 1;
    if (own === 0) this.#open.delete(email);
    else this.#open.set(email, own);
    this.#count(-bytes);
    this.#admitNext();
  }

  /**
   * Admits the lists that fit. An account that waits for its own lists delays no other; one that
   * waits for bytes keeps its turn.
   */
  #admitNext(): void {
    let free = this.#limits.listBytes - this.#bytes;
    for (const [email, queue] of this.#queues) {
      const [entry] = queue;
      if (!entry || (this.#open.get(email) ?? 0) >= this.#limits.listsPerAccount) continue;
      if (entry.bytes > free && !this.#isFirstShort(email, entry.bytes)) {
        free = 0;
        continue;
      }
      this.#dequeue(email, entry);
      // Its next list comes after the lists of the other accounts.
      if (this.#queues.delete(email)) this.#queues.set(email, queue);
      entry.admit(this.#admit(email, entry.bytes));
      free -= entry.bytes;
    }
  }

  #dequeue(email: string, entry: Queued): boolean {
    const queue = this.#queues.get(email);
    if (queue?.delete(entry) !== true) return false;
    this.#queued -= 1;
    if (queue.size === 0) this.#queues.delete(email);
    return true;
  }
}

interface ListResponsesOptions {
  readonly clock: Clock;
  readonly limits: { readonly listResponsesPerAccount: number; readonly listTimeoutMs: number };
}

/**
 * Responses with a long list in memory that the clients of one account read. They share the list,
 * but each fills the buffers of its socket, and the system counts these as memory of the server.
 * Further ones wait in turn, for a limited time.
 */
export class ListResponses {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #slots: Slots;

  constructor({ clock, limits: { listResponsesPerAccount, listTimeoutMs } }: ListResponsesOptions) {
    this.#clock = clock;
    this.#timeoutMs = listTimeoutMs;
    this.#slots = new Slots(Infinity, listResponsesPerAccount);
  }

  /**
   * Resolves when a response of an account may be sent; it counts until it has been read. @throws
   * ServiceError `rate_limited`
   */
  async enter(email: string, reply: FastifyReply): Promise<void> {
    const timeout = new AbortController();
    using _timer = this.#clock.timer(this.#timeoutMs, () =>
      timeout.abort(errors.tooManyLists(this.#timeoutMs, email)),
    );
    await this.#slots.take(timeout.signal, email, 1);
    whenClosed(reply, () => this.#slots.release(email, 1));
  }
}
