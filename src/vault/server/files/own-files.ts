import type { TrashedRecord } from "../../../protocol/responses.ts";
import { type Caller, writeAs } from "../accounts/authenticate.ts";
import { partyOf } from "../store/credential.ts";
import type { VaultContext } from "../context.ts";
import { moveToTrash, trimTrash } from "../protection/removal.ts";
import type { Transaction } from "../store/store.ts";
import { openDigest, readBlob } from "./blob.ts";
import { errors } from "../errors.ts";

export interface Download {
  readonly fileId: string;
  readonly version: number;
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * Opens one version of the caller's file, by default the latest. No bytes are read before `content`
 * is.
 * @throws ServiceError `file_not_found`, `version_not_found`
 */
export async function openDownload(
  context: VaultContext,
  caller: Caller,
  name: string,
  version?: number,
): Promise<Download> {
  const { file, wanted } = await context.store.read(async ({ files }) => {
    const found = await files.find(caller.email, name);
    if (!found) throw errors.fileNotFound();
    const chosen =
      version === undefined ? await files.latest(found.id) : await files.version(found.id, version);
    if (!chosen) throw errors.fileVersionNotFound();
    return { file: found, wanted: chosen };
  }, partyOf(caller));
  const { key, sha256 } = openDigest(context, file, wanted);
  return {
    fileId: file.id,
    version: wanted.version,
    size: wanted.size,
    sha256,
    content: readBlob(context, partyOf(caller), wanted, key),
  };
}

/** Removes a file, or moves it to the trash of a server that has one. */
async function removeFile(
  context: VaultContext,
  transaction: Transaction,
  fileId: string,
): Promise<void> {
  if (context.trashDays === 0) await transaction.files.remove(fileId);
  else await moveToTrash(context, transaction, "file", fileId, context.clock.now());
}

/** The numbers of deleted versions. */
export interface DeletedFile {
  readonly versions: number[];
  /** The entry in the trash of the file; `undefined` when it stays, or the server keeps no trash. */
  readonly trash: TrashedRecord[] | undefined;
}

/**
 * Deletes one version of the caller's file, or all versions. Deleting the last version deletes the
 * file.
 * @throws ServiceError `file_not_found`, `version_not_found`
 */
export async function deleteFile(
  context: VaultContext,
  caller: Caller,
  name: string,
  version?: number,
): Promise<DeletedFile> {
  return writeAs(context, caller, async (transaction) => {
    const { files } = transaction;
    const file = await files.find(caller.email, name);
    if (!file) throw errors.fileNotFound();
    const versions = await files.versions(file.id);
    if (version !== undefined && !versions.includes(version)) throw errors.fileVersionNotFound();
    if (version !== undefined && versions.length > 1) {
      await files.removeVersion(file.id, version);
      return { versions: [version], trash: undefined };
    }
    await removeFile(context, transaction, file.id);
    if (context.trashDays === 0) return { versions, trash: undefined };
    await trimTrash(context, transaction, caller.email);
    return { versions, trash: [{ id: file.id, name }] };
  });
}

/** Deletes all files of the caller; returns their number. */
export async function deleteAllFiles(context: VaultContext, caller: Caller): Promise<number> {
  return writeAs(context, caller, async (transaction) => {
    const all = await transaction.files.ids(caller.email);
    for (const id of all) await removeFile(context, transaction, id);
    if (context.trashDays > 0) await trimTrash(context, transaction, caller.email);
    return all.length;
  });
}
