import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { openDigest, readBlob } from "./blob.ts";
import { errors } from "../errors.ts";

export interface Download {
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
  }, caller.email);
  const { key, sha256 } = openDigest(context, file, wanted);
  return {
    version: wanted.version,
    size: wanted.size,
    sha256,
    content: readBlob(context, caller.email, wanted, key),
  };
}
