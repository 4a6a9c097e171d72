import type { TrashedRecord } from "../../../protocol/responses.ts";
import { type Caller, writeAs } from "../accounts/authenticate.ts";
import { allPages, eachPage } from "../store/all-pages.ts";
import { partyOf } from "../store/credential.ts";
import type { StoredFile } from "../store/records.ts";
import type { VaultContext } from "../context.ts";
import { moveToTrash, Removal, trimTrash } from "../protection/removal.ts";
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

/** The numbers of deleted versions. */
export interface DeletedFile {
  readonly versions: number[];
  /** The entry of the file in the trash; `undefined` after a permanent deletion. */
  readonly trash: TrashedRecord[] | undefined;
}

interface FileDeletion {
  readonly name: string;
  /** Deletes only this version, permanently; the last one with the file. */
  readonly version?: number | undefined;
  /** Latest version that the caller knows; any without it. */
  readonly expectedVersion?: number | undefined;
  /** Bypasses the trash. */
  readonly permanently?: boolean | undefined;
}

/** Numbers of versions that one statement reads: a file may have as many as an account. */
const PAGE = 1_000;

/**
 * Deletes one version of the caller's file, or the file.
 * @throws ServiceError `file_not_found`, `version_not_found`; `version_changed`
 */
export async function deleteFile(
  context: VaultContext,
  caller: Caller,
  { name, version, expectedVersion, permanently = false }: FileDeletion,
): Promise<DeletedFile> {
  return writeAs(context, caller, async (transaction) => {
    const { files } = transaction;
    const file = await files.find(caller.email, name);
    if (!file) throw errors.fileNotFound();
    const latest = (await files.latest(file.id))?.version;
    if (expectedVersion !== undefined && expectedVersion !== latest)
      throw errors.versionChanged(`the latest version is ${latest}`);
    if (version !== undefined) {
      if (!(await files.version(file.id, version))) throw errors.fileVersionNotFound();
      const isOnly = (await files.versions(file.id, 0, 2)).length === 1;
      await (isOnly ? files.remove(file.id) : files.removeVersion(file.id, version));
      return { versions: [version], trash: undefined };
    }
    const versions = await allPages(PAGE, (after: number | undefined) =>
      files.versions(file.id, after ?? 0, PAGE),
    );
    if (context.trashDays === 0 || permanently) {
      await new Removal().remove(transaction, { kind: "file", id: file.id });
      return { versions, trash: undefined };
    }
    await moveToTrash(context, transaction, "file", file.id, context.clock.now());
    await trimTrash(context, transaction, caller.email, 1);
    return { versions, trash: [{ id: file.id, name }] };
  });
}

/** Files that one transaction of `deleteAllFiles` deletes: other writers wait for it. */
const PER_BATCH = 100;

/** Deletes all files of the caller, in transactions of some files each; returns their number. */
export async function deleteAllFiles(context: VaultContext, caller: Caller): Promise<number> {
  const keeps = context.trashDays > 0;
  const deleteNext = (after: StoredFile | undefined): Promise<StoredFile[]> =>
    writeAs(context, caller, async (transaction) => {
      const { files } = transaction;
      const next = await files.named(caller.email, after?.name ?? "", PER_BATCH);
      const removal = new Removal();
      for (const { id } of next) {
        if (keeps) await moveToTrash(context, transaction, "file", id, context.clock.now());
        else await removal.remove(transaction, { kind: "file", id });
      }
      if (keeps) await trimTrash(context, transaction, caller.email, next.length);
      return next;
    });
  let deleted = 0;
  for await (const { length } of eachPage(PER_BATCH, deleteNext)) deleted += length;
  return deleted;
}
