import { isObject, type JsonObject } from "../../../lib/is-object.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import { UnexpectedResponse } from "../vault-error.ts";

/**
 * Returns the records of a list: an array of objects under its own name, `secrets` or `files`.
 * Anything else, such as a bare `[]` or `{"data":[]}`, may be the response of a gateway, and would
 * read as "everything was deleted".
 * @throws UnexpectedResponse
 */
export function readRecords(
  operation: Operation,
  response: unknown,
  name: string,
): readonly JsonObject[] {
  const { [name]: list, error } = isObject(response) ? response : {};
  const hasError = error !== undefined && error !== null;
  if (hasError || !Array.isArray(list) || !list.every(isObject))
    throw new UnexpectedResponse(operation, name);
  return list;
}
