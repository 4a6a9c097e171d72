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
