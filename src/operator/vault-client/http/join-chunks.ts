import { yieldToEventLoop } from "../../../lib/clock.ts";

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
