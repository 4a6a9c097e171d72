const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

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

/** The text has more values than `maxValues`. */
export class TooManyValuesError extends InvalidJsonError {}

export interface StrictJsonOptions {
  /** Maximum nesting of arrays and objects. */
  readonly maxDepth: number;
  /**
   * Rejects names of more than 4 KiB, and objects with two members of one name: two parsers may
   * read such an object differently.
   */
  readonly uniqueNames?: boolean;
  /** Maximum number of members, elements, arrays and objects; unlimited by default. */
  readonly maxValues?: number;
}

/**
 * Parses JSON from an untrusted source: strict UTF-8, bounded depth. Skips a byte order mark. Names
 * such as `__proto__` become ordinary members.
 * @throws InvalidJsonError; TooManyValuesError above `maxValues`
 */
export function parseStrictJson(bytes: Uint8Array, options: StrictJsonOptions): unknown {
  const names = checkStructure(bytes, options);
  const value = parse(bytes);
  // The parser keeps the last of several members of one name, however it is escaped.
  if (options.uniqueNames === true && membersIn(value) !== names) {
    throw new InvalidJsonError("an object has two members of one name");
  }
  return value;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    throw new InvalidJsonError(NOT_JSON);
  }
}

/**
 * Scans the text before it is parsed, to reject costly input first. Returns the number of member
 * names. Malformed JSON may pass.
 */
function checkStructure(
  bytes: Uint8Array,
  { maxDepth, uniqueNames = false, maxValues = Infinity }: StrictJsonOptions,
): number {
  let names = 0;
  let values = 0;
  let depth = 0;
  let lastStringBytes = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    switch (bytes[at] ?? 0) {
      case QUOTE: {
        const end = endOfString(bytes, at);
        lastStringBytes = end - at;
        at = end - 1;
        break;
      }
      case OPENING_BRACE:
      case OPENING_BRACKET:
        depth += 1;
        values += 1;
        if (depth > maxDepth) throw new InvalidJsonError(`nested deeper than ${maxDepth} levels`);
        break;
      case CLOSING_BRACE:
      case CLOSING_BRACKET:
        depth = Math.max(0, depth - 1);
        break;
      case COLON:
        names += 1;
        values += 1;
        if (uniqueNames && lastStringBytes > MAX_NAME_BYTES)
          throw new InvalidJsonError(`a member name is longer than ${MAX_NAME_BYTES} bytes`);
        break;
      case COMMA:
        values += 1;
    }
    if (values > maxValues)
      throw new TooManyValuesError(`more than ${maxValues} members and elements`);
  }
  return names;
}

/** Returns the number of members of all objects in a parsed value. */
function membersIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
  return children.reduce(
    (sum: number, child) => sum + membersIn(child),
    Array.isArray(value) ? 0 : children.length,
  );
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
