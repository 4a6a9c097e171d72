import { InvalidJsonError, parseStrictJson } from "../../lib/strict-json.ts";
import { errors } from "../errors.ts";

/**
 * Parses a JSON request body.
 * @throws ServiceError `invalid_request` when it is not UTF-8, not JSON, repeats a member, has a member name of more than 4 KiB,
 * or is nested deeper than `maxDepth` levels
 */
export function parseJsonBody(bytes: Uint8Array, maxDepth: number): unknown {
  try {
    return parseStrictJson(bytes, { maxDepth, uniqueNames: true });
  } catch (error) {
    if (error instanceof InvalidJsonError) throw errors.invalidRequest("", error.message);
    throw error;
  }
}
