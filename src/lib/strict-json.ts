const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
/** `[` and `{`, `]` and `}` differ by this bit; no other bytes become equal with it. */
const BRACE_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

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
  /** Rejects an object with two members of one name, which two parsers may read differently. */
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
    throw new InvalidJsonError("not valid JSON in UTF-8");
  }
}

/** Scans the text once before it is parsed, so that costly or ambiguous input is rejected first. Malformed JSON may pass. */
function checkStructure(bytes: Uint8Array, { maxDepth, uniqueNames = false }: StrictJsonOptions): void {
  /** The names seen so far at each depth. */
  const names: (Set<string> | undefined)[] = [];
  let depth = 0;
  let start = 0;
  let end = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      start = at;
      end = endOfString(bytes, at);
      at = end - 1;
    } else if ((byte | BRACE_BIT) === OPENING) {
      depth += 1;
      if (depth > maxDepth) throw new InvalidJsonError(`nested deeper than ${maxDepth} levels`);
      if (uniqueNames) names[depth] = undefined;
    } else if ((byte | BRACE_BIT) === CLOSING) depth = Math.max(0, depth - 1);
    else if (uniqueNames && byte === COLON) {
      const level = (names[depth] ??= new Set());
      const name = memberName(bytes, start, end);
      if (level.has(name)) throw new InvalidJsonError("an object has two members of one name");
      level.add(name);
    }
  }
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
function memberName(bytes: Uint8Array, start: number, end: number): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8");
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
