import type { FastifyReply } from "fastify";
import type { IncomingHttpHeaders } from "node:http";
import { yieldToEventLoop, type Clock } from "../../../lib/clock.ts";
import { errors } from "../errors.ts";
import { FairSlots } from "../store/fair-slots.ts";
import { isLive, partyOf, type Credential } from "../store/credential.ts";
import type { Party, Store, Transaction } from "../store/store.ts";
import { MAX_WAIT_SECONDS } from "../../../protocol/limits.ts";
import { subjects } from "../store/change-feed.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Milliseconds that the request waited for a change; no duration includes them. */
    waitedMs?: number;
  }
}

/**
 * Concurrent reads of lists that were woken: a change of many lists leaves the store to other
 * requests. An account whose reads take long has some of them.
 */
const READING = { slots: 4, share: 2, busy: 3, busyMs: 50, fadingMs: 200 };

/** The state of a list that a client has an entity tag of. */
export interface ListState {
  /** The tag of the client that the list still has. */
  readonly sameTag: string | undefined;
  /** Subjects whose changes may change the list (`store/change-feed.ts`). */
  readonly subjects: readonly string[];
  /** Wall-clock time at which the list changes by itself. */
  readonly until: number;
}

interface WaitingOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: {
    readonly waitingLists: number;
    readonly waitingListsPerAccount: number;
    readonly waitingListsPerLogin: number;
  };
  readonly metrics: { readonly waitingLists: { inc(): void; dec(): void } };
}

/** The caller of a request that waits. */
interface Waiter {
  readonly email: string;
  readonly credential: Credential;
}

interface WaitRequest<S extends ListState> {
  readonly caller: Waiter;
  readonly reply: FastifyReply;
  /** The subject of the list itself; the state may name more. */
  readonly subject: string;
  /** Reads the state with one statement. */
  readonly read: (transaction: Transaction) => Promise<S>;
}

/** A promise that any of several events resolves. */
class Wake {
  readonly #resolvers = Promise.withResolvers<void>();
  readonly call = (): void => this.#resolvers.resolve();
  readonly called = this.#resolvers.promise;
}

/**
 * Reports whether a time passed during a read: the read has the state before the list changed by
 * itself, or before the credential ended.
 */
const hasPassed = (time: number, readAt: number, now: number): boolean =>
  readAt < time && time <= now;

/**
 * Requests that wait until the caller's list changes
 * (docs/design/vault-contract.md#waiting-for-a-change).
 */
export class WaitingLists {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #limits: WaitingOptions["limits"];
  readonly #metric: WaitingOptions["metrics"]["waitingLists"];
  readonly #wakes = new Set<() => void>();
  /** Waiting requests by account, and by the digest of their login. */
  readonly #waiting = new Map<string, number>();
  readonly #readers: FairSlots;
  #total = 0;
  #released = false;

  constructor({ store, clock, limits, metrics }: WaitingOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#limits = limits;
    this.#metric = metrics.waitingLists;
    this.#readers = new FairSlots(clock, READING);
  }

  /**
   * Reads the state of a list. While the client has this list and prefers to wait, the state is
   * read again after every change, until it differs or the time is over.
   * @throws ServiceError `invalid_token` when the token or session ends during the wait
   */
  async settle<S extends ListState>(request: WaitRequest<S>): Promise<S> {
    const { caller, reply, read } = request;
    const { headers } = reply.request;
    const waitMs = headers["if-none-match"] === undefined ? 0 : preferredWaitMs(headers);
    if (waitMs === 0 || !this.#enter(caller)) return this.#store.readOne(read, partyOf(caller));
    reply.header("preference-applied", "wait");
    const from = this.#clock.monotonic();
    try {
      return await this.#wait(request, from + waitMs);
    } finally {
      reply.request.waitedMs = this.#clock.monotonic() - from;
      this.#leave(caller);
    }
  }

  async #wait<S extends ListState>(
    { caller, reply, subject, read }: WaitRequest<S>,
    deadline: number,
  ): Promise<S> {
    let watched: readonly string[] = [subject];
    for (;;) {
      const wake = new Wake();
      const readAt = this.#clock.now();
      // Watched before the state is read: no change is missed.
      using _watch = this.#store.changes.watch(
        [...watched, subjects.credentials(caller.email)],
        wake.call,
      );
      const party = partyOf(caller);
      const { live, state } = await this.#inTurn(party, () =>
        this.#store.read(
          async (transaction) => ({
            live: await isLive(transaction, caller.credential, this.#clock.now()),
            state: await read(transaction),
          }),
          // Apart from other reads of the account: they do not hold the turns of woken lists.
          { ...party, account: `waiting ${party.account}` },
        ),
      );
      if (!live) throw errors.invalidAccessToken();
      const now = this.#clock.now();
      const timeLeft = deadline - this.#clock.monotonic();
      const { expiresAt } = caller.credential;
      if (hasPassed(expiresAt, readAt, now)) continue;
      if (state.sameTag !== undefined && hasPassed(state.until, readAt, now) && timeLeft > 0)
        continue;
      const leftMs = Math.min(timeLeft, state.until - now, expiresAt - now);
      if (state.sameTag === undefined || leftMs <= 0 || this.#released || reply.raw.destroyed)
        return state;
      if (state.subjects.join() !== watched.join()) watched = state.subjects;
      else await this.#sleep(wake, reply, leftMs);
    }
  }

  /**
   * Resolves after a change, at the time given, when the client has gone or when waiting lists are
   * released.
   */
  async #sleep(wake: Wake, { raw }: FastifyReply, ms: number): Promise<void> {
    using _timer = this.#clock.timer(ms, wake.call);
    this.#wakes.add(wake.call);
    raw.once("close", wake.call);
    try {
      await wake.called;
    } finally {
      raw.off("close", wake.call);
      this.#wakes.delete(wake.call);
    }
  }

  #inTurn<T>(party: Party, read: () => Promise<T>): Promise<T> {
    return this.#readers.run(party, async () => {
      try {
        return await read();
      } finally {
        await yieldToEventLoop();
      }
    });
  }

  #enter({ email, credential: { login } }: Waiter): boolean {
    if (this.#released || !this.#store.changes.available) return false;
    const { waitingLists, waitingListsPerAccount, waitingListsPerLogin } = this.#limits;
    if (this.#total >= waitingLists || this.#count(email) >= waitingListsPerAccount) return false;
    if (this.#count(login) >= waitingListsPerLogin) return false;
    for (const key of [email, login]) this.#waiting.set(key, this.#count(key) + 1);
    this.#total += 1;
    this.#metric.inc();
    return true;
  }

  #count(key: string): number {
    return this.#waiting.get(key) ?? 0;
  }

  #leave({ email, credential: { login } }: Waiter): void {
    for (const key of [email, login]) {
      const left = this.#count(key) - 1;
      if (left <= 0) this.#waiting.delete(key);
      else this.#waiting.set(key, left);
    }
    this.#total -= 1;
    this.#metric.dec();
  }

  /** Ends all waits and lets no further request wait, for a graceful stop. */
  release(): void {
    this.#released = true;
    // A wake changes the set later, when its request continues.
    for (const wake of this.#wakes) wake();
  }
}

/**
 * Returns the time that a client is willing to wait, in milliseconds, at most 55 s; 0 without the
 * preference `wait` (RFC 7240, section 4.3). A malformed one is ignored, as every preference that a
 * server does not understand.
 */
export function preferredWaitMs({ prefer }: IncomingHttpHeaders): number {
  const [header = ""] = [prefer].flat();
  for (const preference of header.split(",")) {
    const [name = "", value = ""] = preference.split(";", 1).join("").split("=", 2);
    if (name.trim().toLowerCase() !== "wait") continue;
    const seconds = /^"?([0-9]{1,9})"?$/u.exec(value.trim())?.[1] ?? "0";
    return Math.min(Number(seconds), MAX_WAIT_SECONDS) * 1000;
  }
  return 0;
}
