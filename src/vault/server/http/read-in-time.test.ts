import { expect, test } from "vitest";
import type { FastifyReply } from "fastify";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { defaultLimits } from "../limits.ts";
import { PIECE_LENGTH, readInTime } from "./read-in-time.ts";

/** Time that the system takes to accept a part, in milliseconds. */
const ACCEPT_MS = 1;
const PARTS = 40;

/**
 * Reads a body as a socket does whose buffers are not full: each write ends in the same turn of the
 * event loop.
 */
async function readAll(pieces: AsyncGenerator<string | Buffer, void>): Promise<number> {
  let length = 0;
  for await (const piece of pieces) {
    length += piece.length;
    const start = performance.now();
    while (performance.now() - start < ACCEPT_MS);
  }
  return length;
}

test("bodies that many sockets accept immediately leave the event loop to others", async () => {
  const raw = { destroyed: true };
  const reply = {
    raw,
    request: { raw: { socket: { destroy: () => undefined } } },
  } as unknown as FastifyReply;
  const body = Buffer.alloc(PARTS * PIECE_LENGTH);
  const state = { turns: 0, ended: false };
  const count = (): void => {
    state.turns += 1;
    if (!state.ended) setImmediate(count);
  };
  setImmediate(count);
  const deadline = { clock: new VirtualClock(), limits: defaultLimits };
  const bodies = [body, body].map((each) => readAll(readInTime(deadline, reply, [each])));
  expect(await Promise.all(bodies)).toEqual([body.length, body.length]);
  state.ended = true;
  // A turn of the event loop takes a part or two: other requests wait for those only.
  expect(state.turns).toBeGreaterThan(PARTS);
});
