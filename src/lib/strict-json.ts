const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
/** `[` and `{`, `]` and `}` differ by this bit; no other bytes become equal with it. */
const BRACE_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/** Maximum length of a member name with `uniqueNames`, in bytes of the text. */
const MAX_NAME_BYTES = 4096;
const NOT_JSON = "not valid JSON in UTF-8";

/** The text is not acceptable JSON. The message never quotes the text. */
export class InvalidJsonError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "InvalidJsonError";
  }
}

export interface StrictJsonOptions {
  /** Maximum nesting of arrays and objects. */
  readonly maxDepth: number;
  /** Rejects an object with two members of one name, which two parsers may read differently, and names of more than 4 KiB. */
  readonly uniqueNames?: boolean;
}

/**
 * Parses JSON from an untrusted source: strict UTF-8, bounded depth. Skips a byte order mark. Names such as `__proto__` become
 * ordinary members.
 * @throws InvalidJsonError
 */
export function parseStrictJson(bytes: Uint8Array, options: StrictJsonOptions): unknown {
  checkStructure(bytes, options);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new InvalidJsonError(NOT_JSON);
  }
}

/**
 * Scans the text once before it is parsed, so that costly or ambiguous input is rejected first. Every string is decoded at most once,
 * so that the work is linear in the length of the text. Malformed JSON may pass.
 */
function checkStructure(bytes: Uint8Array, { maxDepth, uniqueNames = false }: StrictJsonOptions): void {
  /** The names seen so far at each depth. */
  const names: (Set<string> | undefined)[] = [];
  let depth = 0;
  /** The string since the last structural byte, which a colon makes a name. */
  let string: Uint8Array | undefined;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      const end = endOfString(bytes, at);
      if (uniqueNames) string = bytes.subarray(at, end);
      at = end - 1;
    } else if ((byte | BRACE_BIT) === OPENING) {
      depth += 1;
      if (depth > maxDepth) throw new InvalidJsonError(`nested deeper than ${maxDepth} levels`);
      if (uniqueNames) names[depth] = undefined;
      string = undefined;
    } else if ((byte | BRACE_BIT) === CLOSING) {
      depth = Math.max(0, depth - 1);
      string = undefined;
    } else if (byte === COMMA) string = undefined;
    else if (uniqueNames && byte === COLON) {
      addName((names[depth] ??= new Set()), string);
      string = undefined;
    }
  }
}

/** Adds the name of a member to those of its object. @throws InvalidJsonError when it is missing, too long or already there */
function addName(names: Set<string>, string: Uint8Array | undefined): void {
  if (!string) throw new InvalidJsonError(NOT_JSON);
  if (string.length > MAX_NAME_BYTES) throw new InvalidJsonError(`a member name is longer than ${MAX_NAME_BYTES} bytes`);
  const name = memberName(string);
  if (names.has(name)) throw new InvalidJsonError("an object has two members of one name");
  names.add(name);
}

/** Returns the index after the string that starts at this quote. */
function endOfString(bytes: Uint8Array, quote: number): number {
  for (let at = quote + 1; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === BACKSLASH) at += 1;
    else if (byte === QUOTE) return at + 1;
  }
  return bytes.length;
}

/** Returns a member's name with its escapes decoded, so that each name has one spelling. */
function memberName({ buffer, byteOffset, length }: Uint8Array): string {
  const text = Buffer.from(buffer, byteOffset, length).toString("utf8");
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
