import { readTimestamp } from "../../../protocol/read-timestamp.ts";
import type { SecretRecord } from "../connection.ts";
import { UnexpectedResponse } from "../vault-error.ts";
import { type JsonObject, isObject } from "../../../lib/is-object.ts";
import { reuseEqual } from "../../lib/reuse-equal.ts";
import { shared } from "../../lib/shared-strings.ts";
import { readCount, readText } from "./field.ts";
import { readRecords } from "./read-records.ts";

const OPERATION = "list_no_dup";

const STANDARD = [
  "application_type",
  "classification",
  "cloud_type",
  "description",
  "environment_type",
  "enviroment_type",
  "expiration_time",
] as const;

/**
 * Returns the metadata of a listed secret: nested under `metadata`, or flat on the record under the
 * standard names; nested values take precedence. The misspelling `enviroment_type` of the interface
 * counts as `environment_type`.
 */
function readMetadata(record: JsonObject): JsonObject {
  const flat = STANDARD.filter((name) => Object.hasOwn(record, name)).map(
    (name) => [name, record[name]] as const,
  );
  const nested = isObject(record.metadata) ? Object.entries(record.metadata) : [];
  const metadata = new Map<string, unknown>([...flat, ...nested]);
  const misspelled = metadata.get("enviroment_type");
  if (metadata.delete("enviroment_type") && !metadata.has("environment_type"))
    metadata.set("environment_type", misspelled);
  return Object.fromEntries(metadata);
}

function readRecord(
  record: JsonObject,
  index: number,
  previous: SecretRecord | undefined,
): SecretRecord {
  const unreadable = (name: string): UnexpectedResponse =>
    new UnexpectedResponse(OPERATION, `secrets[${index}].${name}`);
  const name = readText(record.key_name);
  if (name === undefined) throw unreadable("key_name");
  const version = readCount(record.key_version);
  if (version === undefined) throw unreadable("key_version");
  const owner = readText(record.owner);
  return {
    name,
    owner: owner && shared(owner),
    version,
    shared: typeof record.shared === "boolean" ? record.shared : undefined,
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
  const records: SecretRecord[] = [];
  for (const [index, record] of readRecords(OPERATION, response, "secrets").entries()) {
    records.push(readRecord(record, index, records.at(-1)));
  }
  return latestOnly(records);
}
