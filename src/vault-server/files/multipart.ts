import { errors } from "../errors.ts";
import { freeBuffer } from "../../lib/free-buffer.ts";

const HEADERS_END = Buffer.from("\r\n\r\n");
const MAX_HEADER_BYTES = 8 * 1024;
/** Of everything that is not a file: preamble, epilogue, form fields. */
const MAX_OTHER_BYTES = 1024 * 1024;

const malformed = (reason: string): Error => errors.invalidRequest("", `malformed multipart body: ${reason}`);

export interface Part {
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  /** Once, to its end or not at all, each piece used before the next is asked for; what is left of it is skipped when the next part is asked for. */
  readonly content: AsyncIterable<Uint8Array>;
}

/** How many bytes at the end of `bytes` could be the beginning of `delimiter`. */
function beginningAtEnd(bytes: Buffer, delimiter: Buffer): number {
  for (let length = Math.min(bytes.length, delimiter.length - 1); length > 0; length -= 1) {
    if (bytes.subarray(bytes.length - length).equals(delimiter.subarray(0, length))) return length;
  }
  return 0;
}

/** Pulls a source chunk by chunk and cuts it at delimiters; holds one chunk and a delimiter's length, never more. */
class Cutter {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Buffer;
  /** All of what `#held` is the rest of. */
  #chunk: Uint8Array;

  constructor(source: AsyncIterator<Uint8Array>, start: Buffer) {
    this.#source = source;
    this.#held = start;
    this.#chunk = start;
  }

  async #pull(): Promise<boolean> {
    const next = await this.#source.next().catch(() => undefined);
    // The client went away.
    if (next === undefined) throw malformed("unexpected end");
    if (next.done === true) return false;
    const rest = Buffer.from(this.#held);
    freeBuffer(this.#chunk);
    this.#chunk = rest.length === 0 ? next.value : Buffer.concat([rest, next.value]);
    this.#held = Buffer.from(this.#chunk.buffer, this.#chunk.byteOffset, this.#chunk.byteLength);
    return true;
  }

  /** Everything up to the delimiter, which is dropped. A piece is gone when the next one is asked for. */
  async *until(delimiter: Buffer): AsyncGenerator<Buffer> {
    for (;;) {
      const at = this.#held.indexOf(delimiter);
      const end = at === -1 ? this.#held.length - beginningAtEnd(this.#held, delimiter) : at;
      if (end > 0) yield this.#held.subarray(0, end);
      this.#held = this.#held.subarray(at === -1 ? end : end + delimiter.length);
      if (at !== -1) return;
      if (!(await this.#pull())) throw malformed("unexpected end");
    }
  }

  async collect(delimiter: Buffer, maxBytes: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let size = 0;
    for await (const piece of this.until(delimiter)) {
      size += piece.length;
      if (size > maxBytes) throw malformed("part header too long");
      pieces.push(Buffer.from(piece));
    }
    return Buffer.concat(pieces);
  }

  async take(count: number): Promise<Buffer> {
    while (this.#held.length < count) if (!(await this.#pull())) throw malformed("unexpected end");
    const taken = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return taken;
  }

  async drain(maxBytes: number): Promise<void> {
    for (let size = this.#held.length; ; size += this.#held.length) {
      if (size > maxBytes) throw malformed("too much data after the last part");
      this.#held = Buffer.alloc(0);
      if (!(await this.#pull())) return;
    }
  }
}

/** Headers are UTF-8: any other bytes would become names that were never sent. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformed("part header is not valid UTF-8");
  }
}

function parseHeaders(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of decode(bytes).split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon < 1) throw malformed("malformed part header");
    headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

async function skip(content: AsyncIterable<Uint8Array>, budget: { bytes: number }): Promise<void> {
  for await (const piece of content) {
    budget.bytes -= piece.length;
    if (budget.bytes < 0) throw malformed("too much data that is not a file");
  }
}

/**
 * The parts of a `multipart/form-data` body (RFC 7578) one after another, streamed: the body is pulled only as fast as parts are read.
 * @throws ServiceError `invalid_request` when it is malformed or ends before its closing delimiter
 */
export async function* multipartParts(source: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<Part> {
  const input = source[Symbol.asyncIterator]();
  // As if a line ended before the body, so that the first delimiter is like the others.
  const cutter = new Cutter(input, Buffer.from("\r\n"));
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  const others = { bytes: MAX_OTHER_BYTES };
  try {
    await skip(cutter.until(delimiter), others);
    for (;;) {
      const mark = (await cutter.take(2)).toString("latin1");
      if (mark === "--") return await cutter.drain(others.bytes);
      if (mark !== "\r\n") throw malformed("data after a delimiter");
      const headers = parseHeaders(await cutter.collect(HEADERS_END, MAX_HEADER_BYTES));
      const content = cutter.until(delimiter);
      yield { headers, content };
      await skip(content, others);
    }
  } finally {
    await input.return?.();
  }
}
