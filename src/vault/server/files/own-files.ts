import { type Caller, writeAs } from "../accounts/authenticate.ts";
import { partyOf } from "../store/credential.ts";
import type { VaultContext } from "../context.ts";
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

/**
 * Deletes one version of the caller's file, or all versions; returns their numbers. Deleting the
 * last version deletes the file.
 * @throws ServiceError `file_not_found`, `version_not_found`
 */
export async function deleteFile(
  context: VaultContext,
  caller: Caller,
  name: string,
  version?: number,
): Promise<number[]> {
  return writeAs(context, caller, async ({ files }) => {
    const file = await files.find(caller.email, name);
    if (!file) throw errors.fileNotFound();
    const versions = await files.versions(file.id);
    if (version !== undefined && !versions.includes(version)) throw errors.fileVersionNotFound();
    if (version !== undefined && versions.length > 1) {
      await files.removeVersion(file.id, version);
      return [version];
    }
    await files.remove(file.id);
    return versions;
  });
}

/** Deletes all files of the caller; returns their number. */
export async function deleteAllFiles(context: VaultContext, caller: Caller): Promise<number> {
  return writeAs(context, caller, async ({ files }) => {
    const all = await files.ids(caller.email);
    for (const id of all) await files.remove(id);
    return all.length;
  });
}
