import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { yieldToEventLoop } from "../../../lib/clock.ts";
import { longWork } from "../long-work.ts";
import { readInTime, type ReadingDeadline } from "./read-in-time.ts";

/** Length up to which JSON text is sent as a whole. */
export const WHOLE_LENGTH = 256 * 1024;

/** Length from which each further piece of a text is long work. */
const SHORT_LENGTH = 64 * 1024;

/** Lets others use the event loop after a piece of a text that has a length so far. */
export function afterPiece(length: number): Promise<void> {
  return length < SHORT_LENGTH ? yieldToEventLoop() : longWork.turn();
}

/**
 * Yields pieces that were read already, if any, then the remaining ones, each in a turn of long
 * work.
 */
export async function* continued<T>(
  read: readonly T[],
  rest: AsyncIterator<T>,
): AsyncGenerator<T, void> {
  try {
    yield* read;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
      yield next.value;
      await longWork.turn();
    }
  } finally {
    await rest.return?.();
  }
}

/**
 * Sends JSON text that arrives in pieces: a short one as a whole, with its length; a long one as a
 * stream with backpressure, at most one piece ahead. A failure after the first pieces closes the
 * connection: the client sees an incomplete body.
 */
export async function sendJson(
  deadline: ReadingDeadline,
  reply: FastifyReply,
  pieces: AsyncGenerator<string, void>,
): Promise<FastifyReply> {
  reply.type("application/json; charset=utf-8");
  const read: string[] = [];
  for (let length = 0; length <= WHOLE_LENGTH;) {
    const next = await pieces.next();
    if (next.done === true) return reply.send(read.join(""));
    read.push(next.value);
    length += next.value.length;
    await afterPiece(length);
  }
  return sendPieces(deadline, reply, continued(read, pieces));
}

/** Sends a body as a stream, at most one piece ahead. */
function sendPieces(
  deadline: ReadingDeadline,
  reply: FastifyReply,
  pieces: AsyncIterable<string | Buffer> | Iterable<string | Buffer>,
): FastifyReply {
  return reply.send(Readable.from(readInTime(deadline, reply, pieces), { highWaterMark: 1 }));
}

/** Yields `{…head, "<name>": [records]}` as JSON, piece by piece. */
export function jsonList(
  head: object,
  name: string,
  pages: AsyncIterable<readonly object[]>,
): AsyncGenerator<string, void> {
  return textList(head, name, textsOf(pages));
}

async function* textsOf(pages: AsyncIterable<readonly object[]>): AsyncGenerator<string, void> {
  for await (const page of pages) yield JSON.stringify(page).slice(1, -1);
}

/**
 * Yields the same of pages that are JSON already: records that commas separate.
 * @param ended called with the result of `pages` when all have been read
 */
export async function* textList<R>(
  head: object,
  name: string,
  pages: AsyncGenerator<string, R>,
  ended?: (end: R) => void,
): AsyncGenerator<string, void> {
  const start = JSON.stringify({ ...head, [name]: [] });
  let before = start.slice(0, -2);
  let page = await pages.next();
  for (; page.done !== true; page = await pages.next()) {
    if (page.value === "") continue;
    yield before + page.value;
    before = ",";
  }
  ended?.(page.value);
  yield before === "," ? "]}" : start;
}

/** One item of a list within a record. */
export interface NestedItem {
  /** Identifies the record; the items of one record are neighbors. */
  readonly key: string;
  readonly item: unknown;
  /** The other fields of the record, those with its last item count. */
  readonly fields: object;
}

/**
 * Yields `{"<name>": [{"<inner>": [items], …fields}]}` as JSON, piece by piece, however many items
 * a record has.
 */
export async function* nestedJsonList(
  name: string,
  inner: string,
  pages: AsyncIterable<readonly NestedItem[]>,
): AsyncGenerator<string, void> {
  let text = `{${JSON.stringify(name)}:[`;
  let last: NestedItem | undefined;
  const close = ({ fields }: NestedItem): string => `],${JSON.stringify(fields).slice(1)}`;
  for await (const page of pages) {
    for (const next of page) {
      if (last?.key === next.key) text += ",";
      else text += `${last ? `${close(last)},` : ""}{${JSON.stringify(inner)}:[`;
      text += JSON.stringify(next.item);
      last = next;
    }
    yield text;
    text = "";
  }
  yield `${text}${last ? close(last) : ""}]}`;
}
