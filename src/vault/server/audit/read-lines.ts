import { createReadStream } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { openLine, type AuditLine } from "./audit-line.ts";

const NEWLINE = 0x0a;
/** Maximum length of a line of an audit log. */
const MAX_LINE_BYTES = 1024 * 1024;

/** A line of a file without its newline. */
export interface RawLine {
  readonly bytes: Uint8Array;
  /** Offset of the next line, in bytes. */
  readonly end: number;
  /** The newline is missing: the file ends within the line, or the line is too long. */
  readonly torn: boolean;
}

/** Reads the lines of a file of any size in constant memory; ends after a torn one. */
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
    if (rest.length > MAX_LINE_BYTES) break;
  }
  if (rest.length > 0) yield { bytes: rest, end: end + rest.length, torn: true };
}

const FIRST_WINDOW_BYTES = 128 * 1024;

/** End of a file of lines. */
export interface AuditTail {
  /** Last complete line. */
  readonly last: AuditLine | undefined;
  /** Offset of its end, in bytes. */
  readonly end: number;
  /** Bytes after it: the rest of a write that a crash interrupted. */
  readonly torn: Uint8Array;
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

/**
 * Returns the last complete line that ends in these bytes, and its end; `from` is their offset in
 * the file.
 */
function lastLine(bytes: Buffer, from: number): { line: AuditLine; end: number } | undefined {
  let newline = bytes.lastIndexOf(NEWLINE);
  while (newline > 0) {
    const before = bytes.lastIndexOf(NEWLINE, newline - 1);
    if (before < 0 && from > 0) return undefined;
    const line = openLine(bytes.subarray(before + 1, newline));
    if (line) return { line, end: from + newline + 1 };
    newline = before;
  }
  return undefined;
}

/** Reads a file backwards to the last complete line. */
export async function readTail(file: FileHandle, size: number): Promise<AuditTail> {
  for (let window = FIRST_WINDOW_BYTES; ; window *= 8) {
    const from = Math.max(0, size - window);
    const bytes = await readAt(file, from, size - from);
    const found = lastLine(bytes, from);
    if (found) return { last: found.line, end: found.end, torn: bytes.subarray(found.end - from) };
    if (from === 0) return { last: undefined, end: 0, torn: bytes };
  }
}
