import type { FastifyReply } from "fastify";
import type { Clock } from "../../../lib/clock.ts";
import { longWork } from "../long-work.ts";
import { progressDeadline } from "./deadlines.ts";

/**
 * Calls `closed` when the response has been sent or its connection is closed, even if that happened
 * already.
 */
export function whenClosed({ raw }: FastifyReply, closed: () => void): void {
  if (raw.destroyed) closed();
  else raw.once("close", closed);
}

/** Length of the pieces of a long text. */
export const PIECE_LENGTH = 64 * 1024;

/**
 * Duration of a turn of the event loop after which a part is sent in the next one, in milliseconds:
 * parts for a hundred sockets, each accepted immediately, would make every turn long.
 */
const SENDING_MS = 1;

/** Parts of the server that a deadline for reading needs. */
export interface ReadingDeadline {
  readonly clock: Clock;
  readonly limits: { readonly progressTimeoutMs: number };
}

/** Reports whether a text would be cut between the two code units of one character. */
function isWithinCharacter(text: string, at: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(at - 1, at + 1));
}

/**
 * Yields the parts of text or bytes, at most `PIECE_LENGTH` long each; parts of bytes share their
 * memory. No part of a text ends within a character: each is encoded by itself.
 */
function* partsOf(piece: string | Buffer): Generator<string | Buffer, void> {
  for (let from = 0, to = 0; from < piece.length; from = to) {
    to = from + PIECE_LENGTH;
    if (typeof piece === "string" && isWithinCharacter(piece, to)) to -= 1;
    yield typeof piece === "string" ? piece.slice(from, to) : piece.subarray(from, to);
  }
}

/**
 * Passes a body in pieces. Closes the connection of a client that does not take the next one in
 * time, or the last ones.
 */
export async function* readInTime(
  { clock, limits }: ReadingDeadline,
  reply: FastifyReply,
  pieces: AsyncIterable<string | Buffer> | Iterable<string | Buffer>,
): AsyncGenerator<string | Buffer, void> {
  const { socket } = reply.request.raw;
  const deadline = () => progressDeadline(clock, limits, PIECE_LENGTH, () => socket.destroy());
  for await (const piece of pieces) {
    for (const part of partsOf(piece)) {
      // A socket whose buffers are not full accepts a part in the same turn of the event loop.
      await longWork.shortTurn(SENDING_MS);
      using _timer = deadline();
      yield part;
    }
  }
  const last = deadline();
  whenClosed(reply, () => last[Symbol.dispose]());
}
