import { type Caller, writeAs } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";

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
