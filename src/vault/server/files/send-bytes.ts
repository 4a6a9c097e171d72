import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { Timer } from "../../../lib/clock.ts";
import { freeBuffer } from "../free-buffer.ts";

/**
 * Resolves when the system has accepted the bytes; rejects when the client closed the connection.
 */
function write(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const closed = (): void => reject(new Error("the client closed the connection"));
    if (response.destroyed) return closed();
    response.once("close", closed);
    response.write(bytes, (error) => {
      response.off("close", closed);
      if (error) reject(error);
      else resolve();
    });
  });
}

interface SendOptions {
  /** Starts the deadline of a write: at its end it calls `close`. */
  readonly deadline: (bytes: number, close: () => void) => Timer;
  /**
   * Called with the reason when sending fails after the first chunk: the connection is closed, and
   * the client sees a short body.
   */
  readonly cut: (reason: unknown) => void;
}

/**
 * Sends bytes as fast as the client reads them and, unlike the framework's streaming, frees each
 * chunk once it is sent. A client that does not read a chunk in time is disconnected. Headers,
 * including `content-length`, must already be set on the reply.
 * @throws Error from `content` before the first chunk
 */
export async function sendBytes(
  reply: FastifyReply,
  content: AsyncIterable<Uint8Array>,
  { deadline, cut }: SendOptions,
): Promise<FastifyReply> {
  const chunks = content[Symbol.asyncIterator]();
  let next = await chunks.next();
  await reply.request.trail?.end(reply.statusCode);
  reply.hijack();
  const response = reply.raw;
  try {
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) response.setHeader(name, value);
    for (; next.done !== true; next = await chunks.next()) {
      using _deadline = deadline(next.value.length, () => response.destroy());
      await write(response, next.value);
      freeBuffer(next.value);
    }
    response.end();
  } catch (error) {
    response.destroy();
    cut(error);
  }
  return reply;
}
