import type { Dispatcher } from "undici";

/**
 * All bytes of an answer, or `undefined` as soon as they are known to be more than `maxBytes`: by the announced length before
 * reading, by counting while reading. Never holds more than `maxBytes` and one chunk.
 */
export async function readBody({ headers, body }: Dispatcher.ResponseData, maxBytes: number): Promise<Uint8Array | undefined> {
  const announced = Number(headers["content-length"] ?? 0);
  if (announced > maxBytes) {
    discardBody(body);
    return undefined;
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > maxBytes) {
      discardBody(body);
      return undefined;
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

/** Cuts the answer off; the abort that it then reports is our own. */
export function discardBody(body: Dispatcher.ResponseData["body"]): void {
  body.once("error", () => undefined).destroy();
}
