import { isObject, type JsonObject } from "../../../lib/is-object.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import { UnexpectedResponse } from "../vault-error.ts";
import { readTimestamp } from "../../../protocol/read-timestamp.ts";
import type { FileRecord, FileVersion, SecretRecord } from "../connection.ts";
import { readCount, readText } from "./field.ts";
import { reuseEqual } from "../../lib/reuse-equal.ts";
import { shared } from "../../lib/shared-strings.ts";

/**
 * Returns the records of a list: an array of objects under its own name, `secrets` or `files`.
 * Anything else, such as a bare `[]` or `{"data":[]}`, may be the response of a gateway, and would
 * read as "everything was deleted".
 * @throws UnexpectedResponse
 */
function readRecords(operation: Operation, response: unknown, name: string): readonly JsonObject[] {
  const { [name]: list, error } = isObject(response) ? response : {};
  const hasError = error !== undefined && error !== null;
  if (hasError || !Array.isArray(list) || !list.every(isObject))
    throw new UnexpectedResponse(operation, name);
  return list;
}

const FILES_OPERATION = "list_file";
const SHA256 = /^[0-9a-f]{64}$/i;

function readVersion(record: JsonObject, place: string): FileVersion {
  const number = readCount(record.version);
  if (number === undefined) throw new UnexpectedResponse(FILES_OPERATION, `${place}.version`);
  const bytes = readCount(record.size);
  if (bytes === undefined) throw new UnexpectedResponse(FILES_OPERATION, `${place}.size`);
  const digest = record.sha256;
  const sha256 =
    typeof digest === "string" && SHA256.test(digest) ? digest.toLowerCase() : undefined;
  return { version: number, size: bytes, sha256, createdAt: readTimestamp(record.created_at) };
}

/** Returns the version described by an entry and the versions that it lists. */
function readVersions(record: JsonObject, place: string): FileVersion[] {
  const listed = record.versions ?? undefined;
  if (listed === undefined) return [readVersion(record, place)];
  if (!Array.isArray(listed)) throw new UnexpectedResponse(FILES_OPERATION, `${place}.versions`);
  const versions = listed.map((each: unknown, index) => {
    if (!isObject(each))
      throw new UnexpectedResponse(FILES_OPERATION, `${place}.versions[${index}]`);
    return readVersion(each, `${place}.versions[${index}]`);
  });
  const own = readVersion(record, place);
  return [...versions.filter((each) => each.version !== own.version), own];
}

function readEntry(
  record: JsonObject,
  index: number,
): { filename: string; versions: FileVersion[] } {
  const filename = readText(record.filename);
  if (filename === undefined)
    throw new UnexpectedResponse(FILES_OPERATION, `files[${index}].filename`);
  return { filename, versions: readVersions(record, `files[${index}]`) };
}

/**
 * Parses the whole list of files. Versions may be listed inside the entry of a file, or as one
 * entry each.
 * @throws UnexpectedResponse that names the field
 */
export function readFiles(response: unknown): readonly FileRecord[] {
  const files = new Map<string, Map<number, FileVersion>>();
  for (const { filename, versions } of readRecords(FILES_OPERATION, response, "files").map(
    readEntry,
  )) {
    const known = files.get(filename) ?? new Map<number, FileVersion>();
    for (const each of versions) known.set(each.version, each);
    files.set(filename, known);
  }
  return [...files].flatMap(([filename, known]) => {
    const versions = [...known.values()].sort((a, b) => a.version - b.version);
    const latest = versions.at(-1);
    return latest ? [{ filename, ...latest, versions }] : [];
  });
}

const SECRETS_OPERATION = "list_no_dup";

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
    new UnexpectedResponse(SECRETS_OPERATION, `secrets[${index}].${name}`);
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
  for (const [index, record] of readRecords(SECRETS_OPERATION, response, "secrets").entries()) {
    records.push(readRecord(record, index, records.at(-1)));
  }
  return latestOnly(records);
}
