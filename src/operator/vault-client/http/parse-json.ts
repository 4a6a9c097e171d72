const MAX_DEPTH = 64;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `{`, `]` and `}` differ by this bit; no other bytes become the same with it. */
const BRACE_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/** Is the text nested deeper than anything a vault says? Counts brackets outside strings; one pass, nothing built. */
function tooDeep(text: Uint8Array): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at] ?? 0;
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if ((byte | BRACE_BIT) === OPENING) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if ((byte | BRACE_BIT) === CLOSING) depth -= 1;
  }
  return false;
}

/**
 * JSON from an untrusted source: strict UTF-8, at most 64 levels deep.
 * @returns `undefined` when it is not JSON (which JSON itself cannot say); the reason would only quote the text
 */
export function parseJson(body: Uint8Array): unknown {
  if (tooDeep(body)) return undefined;
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
