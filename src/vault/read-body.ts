import type { Dispatcher } from "undici";

/**
 * All bytes of an answer, or `undefined` as soon as they are known to be more than `maxBytes`: by the announced length before
 * reading, by counting while reading. Never holds more than `maxBytes` and one chunk.
 */
export async function readBody({ headers, body }: Dispatcher.ResponseData, maxBytes: number): Promise<Uint8Array | undefined> {
  const announced = Number(headers["content-length"] ?? 0);
  if (announced > maxBytes) return discard(body);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > maxBytes) return discard(body);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

function discard(body: Dispatcher.ResponseData["body"]): undefined {
  // Destroying cuts the connection off, which is the point; the abort it reports is ours.
  body.once("error", () => undefined).destroy();
  return undefined;
}
