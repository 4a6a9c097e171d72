import type { FastifyReply } from "fastify";
import { yieldToEventLoop } from "../../../lib/clock.ts";
import { textList, afterPiece, continued } from "../http/json-stream.ts";
import type { Caller } from "../accounts/authenticate.ts";
import { chargeLength } from "../protection/token-buckets.ts";
import type { VaultContext } from "../context.ts";
import { whenClosed } from "../http/read-in-time.ts";
import type { ListPlace } from "../protection/open-lists.ts";
import type { ListValidityCache } from "./list-validity-cache.ts";
import { SharedList } from "./shared-list.ts";
import { openList, type ListEnd, type OpenedList } from "./list-secrets.ts";
import { formatScope } from "../../../protocol/scope.ts";

/** Maximum number of lists whose lengths are remembered. */
const MAX_KNOWN = 10_000;
/** Length of a list of unknown length, until more of it has been read. */
const UNKNOWN_LENGTH = 256 * 1024;

/** Length of a list in bytes, and the part of the caller's own secrets in characters. */
interface KnownLength {
  readonly length: number;
  readonly ownLength: number;
}

/** A long list that is read while it is sent. */
export interface StreamedList {
  readonly kind: "streamed";
  readonly revision: string;
  readonly now: number;
  readonly pieces: AsyncGenerator<Buffer | string, void>;
}

/**
 * The place of a list that is read, the bytes that it counts, and what follows when it is no longer
 * needed.
 */
interface Room {
  readonly place: ListPlace;
  readonly bytes: number;
  readonly released: () => void;
}

/** A shared list that is being read. */
interface Reading {
  /**
   * Number of the reading; a list that was requested before it started is not older than the
   * request.
   */
  readonly number: number;
  /** Undefined when the list turns out to be too long. */
  readonly list: Promise<SharedList | undefined>;
}

/**
 * Lists that clients request. Clients that request the same list simultaneously, such as all that
 * wait for a change of one account, share one text, read once; a long list is streamed to each.
 * Each list in memory has its place among the open lists.
 */
export class ListRenderings {
  readonly #context: VaultContext;
  readonly #validity: ListValidityCache;
  readonly #known = new Map<string, KnownLength>();
  readonly #readings = new Map<string, Reading>();
  #started = 0;

  constructor(context: VaultContext, validity: ListValidityCache) {
    this.#context = context;
    this.#validity = validity;
  }

  /**
   * Opens the list of a caller, until its response has been read.
   * @param revision of the list when it was requested
   * @throws ServiceError `rate_limited`
   */
  async open(
    caller: Caller,
    revision: string,
    reply: FastifyReply,
  ): Promise<SharedList | StreamedList> {
    const key = JSON.stringify([caller.email, formatScope(caller.scope)]);
    const startedBefore = this.#started;
    for (let reading = this.#readings.get(key); reading;) {
      const list = await reading.list;
      if (list && (reading.number > startedBefore || this.#isSame(list, revision)))
        return keepUntilRead(list, reply);
      const latest = this.#readings.get(key);
      reading = latest === reading ? undefined : latest;
    }
    const known = this.#known.get(key);
    const { sharedListBytes } = this.#context.limits;
    if (known && known.length > sharedListBytes) return this.#stream(key, caller, reply, known);
    return this.#share(key, caller, reply, known?.length ?? UNKNOWN_LENGTH);
  }

  /** Reports whether a list that was opened before is still the list of a revision. */
  #isSame({ revision, end }: SharedList, current: string): boolean {
    return revision === current && end.consistent && this.#context.clock.now() < end.until;
  }

  async #stream(
    key: string,
    caller: Caller,
    reply: FastifyReply,
    { length, ownLength }: KnownLength,
  ): Promise<StreamedList> {
    const { openLists, limits } = this.#context;
    await openLists.enterStream(caller.email, reply, Math.min(length, 2 * limits.sharedListBytes));
    chargeLength(this.#context, caller, ownLength);
    const list = await openList(this.#context, caller);
    return this.#streamed(key, caller, list, {
      charged: ownLength,
      pieces: continued([], this.#textOf(caller, list)),
    });
  }

  /** Yields a list as JSON, and remembers how long it stays valid. */
  #textOf(
    { email }: Caller,
    list: OpenedList,
    ended: (end: ListEnd) => void = () => undefined,
  ): AsyncGenerator<string, void> {
    return textList({}, "secrets", list.pages(), (end) => {
      if (end.consistent)
        this.#validity.remember(email, {
          revision: list.revision,
          from: list.now,
          until: end.until,
        });
      ended(end);
    });
  }

  /** Streams a list; a part of it may have been charged already. */
  #streamed(
    key: string,
    caller: Caller,
    list: OpenedList,
    {
      charged,
      pieces,
    }: { readonly charged: number; readonly pieces: AsyncGenerator<string | Buffer, void> },
  ): StreamedList {
    const counted = async function* (this: ListRenderings): AsyncGenerator<string | Buffer, void> {
      let length = 0;
      try {
        for await (const piece of pieces) {
          length += piece.length;
          yield piece;
        }
        this.#note(key, { length, ownLength: list.ownLength });
      } finally {
        chargeLength(this.#context, caller, list.ownLength - charged);
      }
    };
    return { kind: "streamed", revision: list.revision, now: list.now, pieces: counted.call(this) };
  }

  async #share(
    key: string,
    caller: Caller,
    reply: FastifyReply,
    bytes: number,
  ): Promise<SharedList | StreamedList> {
    const { promise, resolve, reject } = Promise.withResolvers<SharedList | undefined>();
    // Those who share it see the failure as well.
    promise.catch(() => undefined);
    const reading: Reading = { number: (this.#started += 1), list: promise };
    this.#readings.set(key, reading);
    const ended = (): void =>
      void (this.#readings.get(key) === reading && this.#readings.delete(key));
    try {
      const place = await this.#context.openLists.enter(caller.email, bytes);
      const opened = await this.#read(key, caller, { place, bytes, released: ended }).catch(
        (error: unknown) => {
          place[Symbol.dispose]();
          throw error;
        },
      );
      if (opened.kind === "streamed") {
        ended();
        whenClosed(reply, () => place[Symbol.dispose]());
        resolve(undefined);
        return opened;
      }
      using _first = opened.hold();
      resolve(opened);
      // Those who wait for it hold it now.
      await yieldToEventLoop();
      return keepUntilRead(opened, reply);
    } catch (error) {
      ended();
      reject(error);
      throw error;
    }
  }

  /** Reads a list into its place, or a first part of one that does not fit. */
  async #read(
    key: string,
    caller: Caller,
    { place, bytes, released }: Room,
  ): Promise<SharedList | StreamedList> {
    const { limits } = this.#context;
    const list = await openList(this.#context, caller);
    let end: ListEnd = { consistent: false, until: list.now };
    const text = this.#textOf(caller, list, (last) => (end = last));
    const pieces: Buffer[] = [];
    let counted = bytes;
    for (let length = 0; ;) {
      const next = await text.next();
      if (next.done === true) break;
      const piece = Buffer.from(next.value);
      pieces.push(piece);
      length += piece.length;
      const fits =
        length <= counted || (length <= limits.sharedListBytes && place.resize(2 * length));
      if (!fits)
        return this.#streamed(key, caller, list, {
          charged: 0,
          pieces: continued<string | Buffer>(pieces, text),
        });
      counted = Math.max(counted, 2 * length);
      await afterPiece(length);
    }
    chargeLength(this.#context, caller, list.ownLength);
    const shared = new SharedList(list, end, pieces, place, released);
    this.#note(key, { length: shared.length, ownLength: list.ownLength });
    return shared;
  }

  #note(key: string, known: KnownLength): void {
    this.#known.delete(key);
    this.#known.set(key, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** Keeps a list until its response has been read. */
function keepUntilRead(list: SharedList, reply: FastifyReply): SharedList {
  const holding = list.hold();
  whenClosed(reply, () => holding[Symbol.dispose]());
  return list;
}
