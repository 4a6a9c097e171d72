import { isObject, type JsonObject } from "../../../lib/is-object.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import type { WrittenVersion } from "../connection.ts";
import { UnexpectedResponse } from "../vault-error.ts";
import { field, readCount, readTimestamp } from "./field.ts";

/**
 * Returns the record of the written version: the root, a member of it, or the first element of a
 * list in it.
 */
function recordIn(response: unknown): JsonObject | undefined {
  if (!isObject(response)) return undefined;
  const below = field(response, "secret", "files", "file");
  const first: unknown = Array.isArray(below) ? below[0] : below;
  return isObject(first) ? first : response;
}

/**
 * Returns the version that a write created. @throws UnexpectedResponse when the response names none
 */
export function readWritten(
  operation: Operation,
  response: unknown,
): Omit<WrittenVersion, "withMetadata"> {
  const record = recordIn(response);
  const version = record && readCount(field(record, "key_version", "version", "file_version"));
  if (record === undefined || version === undefined)
    throw new UnexpectedResponse(operation, "version");
  return {
    version,
    createdAt: readTimestamp(record.created_at),
    deleteAt: readTimestamp(record.delete_at),
  };
}
