import type { FileRecord, FileVersionRecord } from "../../protocol/responses.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { timestamp } from "../http/timestamp.ts";
import type { Transaction } from "../store/store.ts";
import type { FileVersion, StoredFile } from "../store/records.ts";
import { openDigest, readBlob } from "./blob.ts";
import { errors } from "../errors.ts";

/** Lists a user's files by name in code point order, with versions in ascending order. */
export async function listFiles(context: VaultContext, { files }: Transaction, email: string): Promise<FileRecord[]> {
  const all = await files.list(email);
  const recordOf = (file: StoredFile, version: FileVersion): FileVersionRecord => ({
    version: version.version,
    size: version.size,
    sha256: openDigest(context, file, version).sha256,
    created_at: timestamp(version.createdAt),
  });
  return all.flatMap(({ file, versions }) => {
    const records = versions.map((version) => recordOf(file, version));
    const latest = records.at(-1);
    return latest ? [{ filename: file.name, ...latest, versions: records }] : [];
  });
}

export interface Download {
  readonly version: number;
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * Opens one version of the caller's file, by default the latest. No bytes are read before `content` is.
 * @throws ServiceError `file_not_found`, `version_not_found`
 */
export async function openDownload(context: VaultContext, caller: Caller, name: string, version?: number): Promise<Download> {
  const { file, wanted } = await context.store.read(async ({ files }) => {
    const found = await files.find(caller.email, name);
    if (!found) throw errors.fileNotFound();
    const chosen = version === undefined ? await files.latest(found.id) : await files.version(found.id, version);
    if (!chosen) throw errors.fileVersionNotFound();
    return { file: found, wanted: chosen };
  });
  const { key, sha256 } = openDigest(context, file, wanted);
  return { version: wanted.version, size: wanted.size, sha256, content: readBlob(context, wanted, key) };
}
