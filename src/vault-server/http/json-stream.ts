import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { yieldToEventLoop } from "../../lib/clock.ts";
import { LIST_PAGE_SIZE } from "../store/tables/secret-table.ts";

/** Gives everybody else a turn before each piece. */
async function* inTurns(pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  for await (const piece of pieces) {
    yield piece;
    await yieldToEventLoop();
  }
}

/**
 * Answers with JSON text that comes in pieces: a short one whole, with its length; a long one as fast as the client takes it, never more
 * than a piece ahead. A failure behind the first piece cuts the connection, so that the client sees a short body.
 * @param records about how many there will be
 */
export async function sendJson(reply: FastifyReply, records: number, pieces: AsyncIterable<string>): Promise<FastifyReply> {
  reply.type("application/json; charset=utf-8");
  if (records > LIST_PAGE_SIZE) return reply.send(Readable.from(inTurns(pieces), { highWaterMark: 1 }));
  let text = "";
  for await (const piece of pieces) text += piece;
  return reply.send(text);
}
