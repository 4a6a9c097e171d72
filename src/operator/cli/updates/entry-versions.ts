import type { VaultClient } from "../../../protocol/client/vault-client.ts";
import { secretVersions } from "../../../protocol/client/find-secret.ts";
import { listFile } from "../../../protocol/operations/files.ts";
import { readTimestamp } from "../../../protocol/read-timestamp.ts";

/** An entry of the vault that a resource refers to. */
export interface Entry {
  readonly kind: "secret" | "file";
  readonly name: string;
  /** Creator of the secret, if it is not the account of the connection. */
  readonly owner?: string | undefined;
}

/** A version of an entry. */
export interface EntryVersion {
  readonly version: number;
  /** In milliseconds since the epoch; `undefined`: the vault does not say. */
  readonly createdAt: number | undefined;
  /** Address of the user who wrote it; `undefined`: the vault does not say. */
  readonly createdBy?: string | undefined;
}

/**
 * Returns the versions of an entry that the vault has, ascending. Reads no value.
 * @throws Error when the account of the login may not read the entry
 */
export async function entryVersions(
  client: VaultClient,
  { kind, name, owner }: Entry,
): Promise<EntryVersion[]> {
  if (kind === "secret")
    return (await secretVersions(client, { name, owner })).map((record) => ({
      version: record.key_version,
      createdAt: readTimestamp(record.created_at),
      createdBy: record.created_by,
    }));
  const { files } = await client.call(listFile, {});
  const file = files.find(({ filename }) => filename === name);
  if (file === undefined)
    throw new Error(`${client.email} has no file ${JSON.stringify(name)} in the vault`);
  return file.versions.map(({ version, created_at }) => ({
    version,
    createdAt: readTimestamp(created_at),
  }));
}

/** Returns the version that was the latest one at a time, in milliseconds; `undefined`: none. */
export const versionAt = (
  versions: readonly EntryVersion[],
  time: number,
): EntryVersion | undefined => versions.findLast(({ createdAt = Infinity }) => createdAt <= time);
