import { errors } from "../errors.ts";
import { freeBuffer } from "../free-buffer.ts";

const HEADERS_END = Buffer.from("\r\n\r\n");
const MAX_HEADER_BYTES = 8 * 1024;
/** Limit for everything that is not a file: preamble, epilogue, form fields. */
const MAX_OTHER_BYTES = 1024 * 1024;
/** Maximum number of parts, files or not: an empty part costs more time than its bytes suggest. */
const MAX_PARTS = 1000;

const malformed = (reason: string): Error =>
  errors.invalidRequest("", `malformed multipart body: ${reason}`);

export interface Part {
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  /**
   * Read at most once; each piece is valid until the next one is requested. The rest is skipped
   * when the next part is requested.
   */
  readonly content: AsyncIterable<Uint8Array>;
}

/** Returns the number of bytes at the end of `bytes` that may be the start of `delimiter`. */
function partialDelimiterLength(bytes: Buffer, delimiter: Buffer): number {
  for (let length = Math.min(bytes.length, delimiter.length - 1); length > 0; length -= 1) {
    if (bytes.subarray(bytes.length - length).equals(delimiter.subarray(0, length))) return length;
  }
  return 0;
}

/**
 * Reads a source chunk by chunk and splits it at delimiters; buffers at most one chunk and a
 * delimiter.
 */
class DelimitedReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #buffered: Buffer;
  /** The chunk that `#buffered` is a part of. */
  #chunk: Uint8Array;

  constructor(source: AsyncIterator<Uint8Array>, start: Buffer) {
    this.#source = source;
    this.#buffered = start;
    this.#chunk = start;
  }

  async #pull(): Promise<boolean> {
    const next = await this.#source.next().catch(() => undefined);
    // The client closed the connection.
    if (next === undefined) throw malformed("unexpected end");
    if (next.done === true) return false;
    const rest = Buffer.from(this.#buffered);
    freeBuffer(this.#chunk);
    this.#chunk = rest.length === 0 ? next.value : Buffer.concat([rest, next.value]);
    this.#buffered = Buffer.from(
      this.#chunk.buffer,
      this.#chunk.byteOffset,
      this.#chunk.byteLength,
    );
    return true;
  }

  /**
   * Yields everything up to the delimiter and skips the delimiter. A piece is valid until the next
   * one is requested.
   */
  async *until(delimiter: Buffer): AsyncGenerator<Buffer> {
    for (;;) {
      const at = this.#buffered.indexOf(delimiter);
      const end =
        at === -1 ? this.#buffered.length - partialDelimiterLength(this.#buffered, delimiter) : at;
      if (end > 0) yield this.#buffered.subarray(0, end);
      this.#buffered = this.#buffered.subarray(at === -1 ? end : end + delimiter.length);
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
    while (this.#buffered.length < count)
      if (!(await this.#pull())) throw malformed("unexpected end");
    const taken = this.#buffered.subarray(0, count);
    this.#buffered = this.#buffered.subarray(count);
    return taken;
  }

  async drain(maxBytes: number): Promise<void> {
    for (let size = this.#buffered.length; ; size += this.#buffered.length) {
      if (size > maxBytes) throw malformed("too much data after the last part");
      this.#buffered = Buffer.alloc(0);
      if (!(await this.#pull())) return;
    }
  }
}

/**
 * Decodes a header as UTF-8; other bytes are rejected, because they would become names that were
 * never sent.
 */
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
 * Yields the parts of a `multipart/form-data` body (RFC 7578) as a stream: the body is read only as
 * fast as its parts.
 * @throws ServiceError `invalid_request` when it is malformed or ends before its closing delimiter
 */
export async function* multipartParts(
  source: AsyncIterable<Uint8Array>,
  boundary: string,
): AsyncGenerator<Part> {
  const input = source[Symbol.asyncIterator]();
  // Starts with a line break: the first delimiter then matches like later ones.
  const reader = new DelimitedReader(input, Buffer.from("\r\n"));
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  const others = { bytes: MAX_OTHER_BYTES };
  try {
    await skip(reader.until(delimiter), others);
    for (let parts = 0; ; parts += 1) {
      const mark = (await reader.take(2)).toString("latin1");
      if (mark === "--") return await reader.drain(others.bytes);
      if (mark !== "\r\n") throw malformed("data after a delimiter");
      if (parts === MAX_PARTS) throw malformed(`more than ${MAX_PARTS} parts`);
      const headers = parseHeaders(await reader.collect(HEADERS_END, MAX_HEADER_BYTES));
      const content = reader.until(delimiter);
      yield { headers, content };
      await skip(content, others);
    }
  } finally {
    await input.return?.();
  }
}
