import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { yieldToEventLoop } from "../../lib/clock.ts";
import { LIST_PAGE_SIZE } from "../store/tables/secret-table.ts";

/** Yields to the event loop after each piece. */
async function* yieldingToOthers(pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  for await (const piece of pieces) {
    yield piece;
    await yieldToEventLoop();
  }
}

/**
 * Sends JSON text that arrives in pieces: a short one as a whole, with its length; a long one as a stream with backpressure, at
 * most one piece ahead. A failure after the first piece closes the connection, so that the client sees an incomplete body.
 * @param records approximate number of records
 */
export async function sendJson(reply: FastifyReply, records: number, pieces: AsyncIterable<string>): Promise<FastifyReply> {
  reply.type("application/json; charset=utf-8");
  if (records > LIST_PAGE_SIZE) return reply.send(Readable.from(yieldingToOthers(pieces), { highWaterMark: 1 }));
  let text = "";
  for await (const piece of pieces) text += piece;
  return reply.send(text);
}
