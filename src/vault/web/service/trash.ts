import type { TrashEntryRecord } from "../../../protocol/responses.ts";
import { isTrashEntry } from "./responses.ts";
import { listOf, shape } from "./shape.ts";
import type { VaultClient } from "./vault-client.ts";
import { isObject } from "../../../lib/is-object.ts";

const trashList = shape<{ trash: readonly TrashEntryRecord[] }>({ trash: listOf(isTrashEntry) });

/** Entries of one request. */
const MAX_IDS = 200;

/** Returns the deleted secrets and files of the user that can be restored, the newest first. */
export async function listTrash(client: VaultClient): Promise<readonly TrashEntryRecord[]> {
  return (await client.call("trash_list", {}, trashList)).trash;
}

/**
 * Restores entries: all of each 200, or none of them.
 * @param name another name, for one entry
 * @throws RequestError `name_taken`, `trash_entry_not_found`
 */
export async function restoreEntries(
  client: VaultClient,
  ids: readonly string[],
  name?: string,
): Promise<void> {
  for (let at = 0; at < ids.length; at += MAX_IDS)
    await client.call("trash_restore", { id: ids.slice(at, at + MAX_IDS), name }, isObject);
}

/** Deletes an entry permanently. */
export async function deleteEntry(client: VaultClient, id: string): Promise<void> {
  await client.call("trash_delete", { id }, isObject);
}

/** Deletes all entries permanently. */
export async function emptyTrash(client: VaultClient): Promise<void> {
  await client.call("trash_empty", {}, isObject);
}
