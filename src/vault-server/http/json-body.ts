import { invalidRequest } from "../errors.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** Behind the string that begins at this quote. */
function endOfString(bytes: Uint8Array, quote: number): number {
  for (let i = quote + 1; i < bytes.length; i += 1) {
    const byte = bytes[i];
    if (byte === BACKSLASH) i += 1;
    else if (byte === QUOTE) return i + 1;
  }
  return bytes.length;
}

/** A member's name; escapes are undone, so that each name has one spelling. */
function memberName(bytes: Uint8Array, start: number, end: number): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8");
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

/**
 * Looks at a JSON text without parsing it, so that what would cost too much, or be read in two ways, is refused before. What is no JSON
 * may pass.
 * @throws ServiceError `invalid_request` when it nests deeper than `maxDepth` levels, or an object has a name twice
 */
function checkStructure(bytes: Uint8Array, maxDepth: number): void {
  /** For each level the names so far; made when there is one. */
  const levels: (Set<string> | undefined)[] = [];
  let string = { start: 0, end: 0 };
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i] ?? 0;
    if (byte === QUOTE) {
      string = { start: i, end: endOfString(bytes, i) };
      i = string.end - 1;
    } else if (byte === COLON) {
      const name = memberName(bytes, string.start, string.end);
      const names = levels.pop() ?? new Set();
      if (names.has(name)) throw invalidRequest("", "an object has two members of one name");
      levels.push(names.add(name));
    } else if (OPENING.has(byte)) {
      if (levels.length === maxDepth) throw invalidRequest("", `nested deeper than ${maxDepth} levels`);
      levels.push(undefined);
    } else if (CLOSING.has(byte)) levels.pop();
  }
}

/**
 * Reads a JSON request body. Names such as `__proto__` become members like any other; a byte order mark is skipped.
 * @throws ServiceError `invalid_request` when it is no UTF-8, no JSON, has a member twice, or is nested deeper than `maxDepth` levels
 */
export function parseJsonBody(bytes: Uint8Array, maxDepth: number): unknown {
  checkStructure(bytes, maxDepth);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw invalidRequest("", "not valid JSON in UTF-8");
  }
}
