import { InvalidJsonError, parseStrictJson } from "../../../lib/strict-json.ts";
import { errors } from "../errors.ts";

/** Limits of a JSON body that bound the time to parse it. */
interface JsonLimits {
  readonly jsonDepth: number;
  readonly jsonValues: number;
}

/**
 * Parses a JSON request body.
 * @throws ServiceError `invalid_request` when it is not UTF-8, not JSON, repeats a member, has a
 * member name of more than 4 KiB, is nested too deeply or has too many values
 */
export function parseJsonBody(bytes: Uint8Array, { jsonDepth, jsonValues }: JsonLimits): unknown {
  try {
    return parseStrictJson(bytes, {
      maxDepth: jsonDepth,
      maxValues: jsonValues,
      uniqueNames: true,
    });
  } catch (error) {
    if (error instanceof InvalidJsonError) throw errors.invalidRequest("", error.message);
    throw error;
  }
}
