import { Redacted } from "../../../lib/redacted.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import type { EntryAddress, EntryBytes, LatestVersion, SecretRecord } from "../connection.ts";
import { UnexpectedResponse } from "../vault-error.ts";
import { isObject, type JsonObject } from "../../../lib/is-object.ts";
import { field, readCount } from "./field.ts";

/** A value, and whether the response names its version. */
export interface ReadValue extends EntryBytes {
  readonly labeled: boolean;
}

/** Returns the object with the value: the root, or the only object below it that has one. */
function valueObject(response: unknown): JsonObject | undefined {
  if (!isObject(response)) return undefined;
  if (Object.hasOwn(response, "key_value")) return response;
  const below = Object.values(response).filter(
    (value) => isObject(value) && Object.hasOwn(value, "key_value"),
  );
  return below.length === 1 && isObject(below[0]) ? below[0] : undefined;
}

/**
 * Returns the value of an expose operation, with the version that the response names. @throws as
 * {@link readValue}
 */
export function readExposed(
  operation: Operation,
  response: unknown,
  entry: Pick<EntryAddress, "name" | "owner">,
): LatestVersion {
  const { bytes, version, labeled } = readValue(operation, response, entry, 0);
  return { bytes, version: labeled ? version : undefined };
}

/**
 * Returns the value of an expose operation as UTF-8 bytes; it may be empty. Rejects a response for
 * another name or owner than requested; a response for another version is labeled with that
 * version.
 * @param version requested version, assumed if the response names none
 * @throws UnexpectedResponse that names the field
 */
export function readValue(
  operation: Operation,
  response: unknown,
  record: Pick<SecretRecord, "name" | "owner">,
  version: number,
): ReadValue {
  const from = valueObject(response);
  const value = from?.key_value;
  // Text that UTF-8 cannot express would be changed by the encoding.
  if (!from || typeof value !== "string" || !value.isWellFormed())
    throw new UnexpectedResponse(operation, "key_value");
  const label = (name: string): unknown =>
    field(from, name) ?? (isObject(response) ? field(response, name) : undefined);
  const name = label("key_name");
  if (name !== undefined && name !== record.name)
    throw new UnexpectedResponse(operation, "key_name");
  const owner = label("owner");
  if (
    typeof owner === "string" &&
    record.owner !== undefined &&
    owner.toLowerCase() !== record.owner.toLowerCase()
  ) {
    throw new UnexpectedResponse(operation, "owner");
  }
  const versionLabel = label("key_version");
  const responseVersion = versionLabel === undefined ? version : readCount(versionLabel);
  if (responseVersion === undefined) throw new UnexpectedResponse(operation, "key_version");
  return {
    bytes: new Redacted(new TextEncoder().encode(value)),
    version: responseVersion,
    labeled: versionLabel !== undefined,
  };
}
