import type { Dispatcher } from "undici";
import { type Clock, yieldToEventLoop } from "../../../lib/clock.ts";
import type { BodyMemory } from "./vault-transport.ts";

/** Time in ms within which a body that takes memory arrives: others may wait for this memory. */
const MAX_MEMORY_MS = 30_000;

/** The memory that a body waits for, with the signal that ends the wait. */
interface Waiting {
  readonly memory: BodyMemory;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Returns all bytes of a response, or `undefined` as soon as they exceed `maxBytes`: by the
 * announced length before reading, by counting while reading. Buffers at most `maxBytes` and one
 * chunk.
 * @throws the error of the body or of the memory
 */
export async function readBody(
  { headers, body }: Dispatcher.ResponseData,
  maxBytes: number,
  waiting?: Waiting,
): Promise<Uint8Array | undefined> {
  const announced = lengthIn(headers);
  if (announced !== undefined && announced > maxBytes) {
    discardBody(body);
    return undefined;
  }
  try {
    await waiting?.memory.reserve(announced, waiting.signal);
    using _ = waiting?.clock.timer(MAX_MEMORY_MS, () => body.destroy(waiting.memory.timeout()));
    return await readAll(body, maxBytes, waiting?.memory);
  } catch (error) {
    discardBody(body);
    throw error;
  }
}

function lengthIn(headers: Dispatcher.ResponseData["headers"]): number | undefined {
  const announced = Number(headers["content-length"] ?? Number.NaN);
  return Number.isSafeInteger(announced) && announced >= 0 ? announced : undefined;
}

async function readAll(
  body: Dispatcher.ResponseData["body"],
  maxBytes: number,
  memory: BodyMemory | undefined,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > maxBytes) {
      discardBody(body);
      return undefined;
    }
    memory?.grow(length);
    chunks.push(chunk);
  }
  return joinChunks(chunks, length);
}

/** Number of bytes that are copied in one turn of the event loop: some 3 ms. */
const BYTES_PER_TURN = 4 * 1024 * 1024;

/**
 * Returns the bytes of all chunks, `length` in total. The event loop continues while many are
 * copied.
 */
export async function joinChunks(
  chunks: readonly Uint8Array[],
  length: number,
): Promise<Uint8Array> {
  const joined = new Uint8Array(length);
  let copied = 0;
  let pauseAt = BYTES_PER_TURN;
  for (const chunk of chunks) {
    joined.set(chunk, copied);
    copied += chunk.byteLength;
    if (copied < pauseAt) continue;
    pauseAt = copied + BYTES_PER_TURN;
    await yieldToEventLoop();
  }
  return joined;
}

/** Aborts the response and ignores the error that this abort causes. */
export function discardBody(body: Dispatcher.ResponseData["body"]): void {
  body.once("error", () => undefined).destroy();
}
