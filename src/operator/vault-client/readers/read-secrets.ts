import type { SecretRecord } from "../connection.ts";
import { UnexpectedResponse } from "../vault-error.ts";
import type { JsonObject } from "../../../lib/is-object.ts";
import { reuseEqual } from "../../../lib/reuse-equal.ts";
import { shared } from "../../../lib/shared-strings.ts";
import { field, readCount, readTimestamp, readText } from "./field.ts";
import { findList, type ListEntry } from "./find-list.ts";
import { readMetadata } from "./read-metadata.ts";

const OPERATION = "list_no_dup";
const version = (record: JsonObject): unknown => field(record, "key_version", "version", "latest_version");

function readRecord({ key, record }: ListEntry, index: number, previous: SecretRecord | undefined): SecretRecord {
  const unreadable = (name: string): UnexpectedResponse => new UnexpectedResponse(OPERATION, `secrets[${index}].${name}`);
  const name = readText(field(record, "key_name", "name") ?? key);
  if (name === undefined) throw unreadable("key_name");
  const number = readCount(version(record));
  if (number === undefined) throw unreadable("key_version");
  const isShared = field(record, "shared", "is_shared");
  const owner = readText(field(record, "owner", "creator"));
  return {
    name,
    owner: owner && shared(owner),
    version: number,
    shared: typeof isShared === "boolean" ? isShared : undefined,
    // Most secrets have the metadata of a vault's defaults.
    metadata: reuseEqual(previous?.metadata, readMetadata(record)),
    expiresAt: readTimestamp(record.expires_at),
    deleteAt: readTimestamp(record.delete_at),
    createdAt: readTimestamp(record.created_at),
  };
}

/** Returns one record per owner and name: the highest version. */
function latestOnly(records: readonly SecretRecord[]): SecretRecord[] {
  const latest = new Map<string, SecretRecord>();
  for (const record of records) {
    const key = JSON.stringify([record.name, record.owner]);
    const known = latest.get(key);
    if (!known || known.version < record.version) latest.set(key, record);
  }
  return [...latest.values()];
}

/**
 * Parses the whole list of secrets. One unreadable record makes the list unreadable.
 * @throws UnexpectedResponse that names the field
 */
export function readSecrets(response: unknown): readonly SecretRecord[] {
  const entries = findList(response, "secrets", (record) => readCount(version(record)) !== undefined);
  if (!entries) throw new UnexpectedResponse(OPERATION, "secrets");
  const records: SecretRecord[] = [];
  for (const [index, entry] of entries.entries()) records.push(readRecord(entry, index, records.at(-1)));
  return latestOnly(records);
}
