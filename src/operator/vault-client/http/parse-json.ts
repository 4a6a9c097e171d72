import { InvalidJsonError, parseStrictJson, TooManyValuesError } from "../../../lib/strict-json.ts";

/** Maximum nesting of a response; deeper than anything a vault sends. */
const MAX_DEPTH = 64;

/**
 * Parses the body of a response. Returns `undefined`, never a JSON value, when the body is not
 * strict JSON, or when an object has two members of one name: the operator and another client could
 * read different versions of one entry.
 * @throws TooManyValuesError before the body is parsed
 */
export function parseJson(body: Uint8Array, maxValues = Infinity): unknown {
  try {
    return parseStrictJson(body, { maxDepth: MAX_DEPTH, uniqueNames: true, maxValues });
  } catch (error) {
    if (error instanceof InvalidJsonError && !(error instanceof TooManyValuesError))
      return undefined;
    throw error;
  }
}
