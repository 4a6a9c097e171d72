import type { SecretRecord } from "../connection.ts";
import { UnexpectedResponse } from "../vault-error.ts";
import type { JsonObject } from "../../../lib/is-object.ts";
import { field, readCount, readMoment, readText } from "./field.ts";
import { findList, type ListEntry } from "./find-list.ts";
import { readMetadata } from "./read-metadata.ts";

const OPERATION = "list_no_dup";
const version = (record: JsonObject): unknown => field(record, "key_version", "version", "latest_version");

function readRecord({ key, record }: ListEntry, index: number, now: number): SecretRecord {
  const unreadable = (name: string): UnexpectedResponse => new UnexpectedResponse(OPERATION, `secrets[${index}].${name}`);
  const name = readText(field(record, "key_name", "name") ?? key);
  if (name === undefined) throw unreadable("key_name");
  const number = readCount(version(record));
  if (number === undefined) throw unreadable("key_version");
  const shared = field(record, "shared", "is_shared");
  const expired = field(record, "expired", "is_expired");
  const expiresAt = readMoment(record.expires_at);
  return {
    name,
    owner: readText(field(record, "owner", "creator")),
    version: number,
    shared: typeof shared === "boolean" ? shared : undefined,
    metadata: readMetadata(record),
    expiresAt,
    expired: typeof expired === "boolean" ? expired : expiresAt !== undefined && expiresAt <= now,
    deleteAt: readMoment(record.delete_at),
    createdAt: readMoment(record.created_at),
  };
}

/** One record for each owner and name: of several versions the highest. */
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
 * The whole list of secrets, or nothing: one record that cannot be read makes the list unreadable.
 * @param now wall clock, for a list that names moments of expiry without saying what has expired
 * @throws UnexpectedResponse naming the field
 */
export function readSecrets(answer: unknown, now: number): readonly SecretRecord[] {
  const entries = findList(answer, "secrets", (record) => readCount(version(record)) !== undefined);
  if (!entries) throw new UnexpectedResponse(OPERATION, "secrets");
  return latestOnly(entries.map((entry, index) => readRecord(entry, index, now)));
}
