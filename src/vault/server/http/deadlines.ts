import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock, Timer } from "../../../lib/clock.ts";

/** Rate in bytes per second at which a client has to read a response at least. */
const MIN_BYTES_PER_SECOND = 32 * 1024;

/** Bytes that a client has to read within `progressTimeoutMs`, on average of one write. */
const PROGRESS_BYTES = 32 * 1024;

/** Calls `close` unless a client has read a write of `bytes` in time: dispose it then. */
export function progressDeadline(
  clock: Clock,
  { progressTimeoutMs }: { readonly progressTimeoutMs: number },
  bytes: number,
  close: () => void,
): Timer {
  return clock.timer(Math.ceil(bytes / PROGRESS_BYTES) * progressTimeoutMs, close);
}

interface DeadlineLimits {
  readonly bodyTimeoutMs: number;
  readonly responseTimeoutMs: number;
  readonly streamTimeoutMs: number;
}

/**
 * Returns the time in milliseconds that a client has to read a response. A stream takes little
 * memory, however long it is.
 */
function responseTimeoutMs(
  payload: unknown,
  { responseTimeoutMs: base, streamTimeoutMs }: DeadlineLimits,
): number {
  if (payload instanceof Readable) return streamTimeoutMs;
  const bytes =
    typeof payload === "string" || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
  return base + (bytes / MIN_BYTES_PER_SECOND) * 1000;
}

/** Closes the connection of a client that sends a JSON body or reads a response too slowly. */
export function addDeadlines(app: FastifyInstance, clock: Clock, limits: DeadlineLimits): void {
  const bodies = new WeakMap<FastifyRequest, Timer>();
  app.addHook("onRequest", async (request) => {
    if (request.headers["content-type"]?.startsWith("multipart/") === true) return;
    const timer = clock.timer(limits.bodyTimeoutMs, () => request.raw.socket.destroy());
    bodies.set(request, timer);
    request.raw.once("close", () => timer[Symbol.dispose]());
  });
  const received = async (request: FastifyRequest): Promise<void> =>
    bodies.get(request)?.[Symbol.dispose]();
  app.addHook("preValidation", received);
  app.addHook("onSend", async (request, reply, payload) => {
    await received(request);
    const { socket } = request.raw;
    const timer = clock.timer(responseTimeoutMs(payload, limits), () => socket.destroy());
    reply.raw.once("close", () => timer[Symbol.dispose]());
    return payload;
  });
}
