import { readTimestamp } from "../../../protocol/read-timestamp.ts";
import type { FileRecord, FileVersion } from "../connection.ts";
import { UnexpectedResponse } from "../vault-error.ts";
import { isObject, type JsonObject } from "../../../lib/is-object.ts";
import { readCount, readText } from "./field.ts";
import { readRecords } from "./read-records.ts";

const OPERATION = "list_file";
const SHA256 = /^[0-9a-f]{64}$/i;

function readVersion(record: JsonObject, place: string): FileVersion {
  const number = readCount(record.version);
  if (number === undefined) throw new UnexpectedResponse(OPERATION, `${place}.version`);
  const bytes = readCount(record.size);
  if (bytes === undefined) throw new UnexpectedResponse(OPERATION, `${place}.size`);
  const digest = record.sha256;
  const sha256 =
    typeof digest === "string" && SHA256.test(digest) ? digest.toLowerCase() : undefined;
  return { version: number, size: bytes, sha256, createdAt: readTimestamp(record.created_at) };
}

/** Returns the version described by an entry and the versions that it lists. */
function readVersions(record: JsonObject, place: string): FileVersion[] {
  const listed = record.versions ?? undefined;
  if (listed === undefined) return [readVersion(record, place)];
  if (!Array.isArray(listed)) throw new UnexpectedResponse(OPERATION, `${place}.versions`);
  const versions = listed.map((each: unknown, index) => {
    if (!isObject(each)) throw new UnexpectedResponse(OPERATION, `${place}.versions[${index}]`);
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
  if (filename === undefined) throw new UnexpectedResponse(OPERATION, `files[${index}].filename`);
  return { filename, versions: readVersions(record, `files[${index}]`) };
}

/**
 * Parses the whole list of files. Versions may be listed inside the entry of a file, or as one
 * entry each.
 * @throws UnexpectedResponse that names the field
 */
export function readFiles(response: unknown): readonly FileRecord[] {
  const files = new Map<string, Map<number, FileVersion>>();
  for (const { filename, versions } of readRecords(OPERATION, response, "files").map(readEntry)) {
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
