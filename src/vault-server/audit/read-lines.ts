import { createReadStream } from "node:fs";

const NEWLINE = 0x0a;
/** No line of an audit log is longer. */
const LONGEST_LINE_BYTES = 1024 * 1024;

/** One line of a file, its end left off. */
export interface RawLine {
  readonly bytes: Uint8Array;
  /** Where the next one begins, in bytes. */
  readonly end: number;
  /** Without an end: the file stops within it, or it is longer than any can be. */
  readonly torn: boolean;
}

/** The lines of a file of any size, in constant memory; ends behind a torn one. */
export async function* readLines(file: string): AsyncGenerator<RawLine> {
  let rest = Buffer.alloc(0);
  let end = 0;
  const chunks: AsyncIterable<Buffer> = createReadStream(file, { highWaterMark: 256 * 1024 });
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    let from = 0;
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
      end += at + 1 - from;
      yield { bytes: bytes.subarray(from, at), end, torn: false };
      from = at + 1;
    }
    rest = bytes.subarray(from);
    if (rest.length > LONGEST_LINE_BYTES) break;
  }
  if (rest.length > 0) yield { bytes: rest, end: end + rest.length, torn: true };
}
