import { invalidRequest } from "./service-error.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** How deep a JSON text nests, found without parsing it; brackets inside strings do not count. */
function depthOf(bytes: Uint8Array): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i] ?? 0;
    if (inString) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (OPENING.has(byte)) deepest = Math.max(deepest, (depth += 1));
    else if (CLOSING.has(byte)) depth -= 1;
  }
  return deepest;
}

/**
 * Reads a JSON request body. Names such as `__proto__` become members like any other.
 * @throws ServiceError `invalid_request` when it is no UTF-8, no JSON, or nested deeper than `maxDepth` levels
 */
export function parseJsonBody(bytes: Uint8Array, maxDepth: number): unknown {
  if (depthOf(bytes) > maxDepth) throw invalidRequest("", `nested deeper than ${maxDepth} levels`);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw invalidRequest("", "not valid JSON in UTF-8");
  }
}
