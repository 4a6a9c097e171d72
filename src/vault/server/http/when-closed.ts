import type { FastifyReply } from "fastify";

/**
 * Calls `closed` when the response has been sent or its connection is closed, even if that happened
 * already.
 */
export function whenClosed({ raw }: FastifyReply, closed: () => void): void {
  if (raw.destroyed) closed();
  else raw.once("close", closed);
}
