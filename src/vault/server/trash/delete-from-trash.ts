import type { RestoredRecord } from "../../../protocol/responses.ts";
import { requireUnlimited } from "../access/permission.ts";
import { type Caller, writeAs } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { Removal } from "../protection/removal.ts";
import type { Transaction } from "../store/store.ts";
import type { TrashEntry } from "../store/tables/trash-table.ts";

/**
 * Returns the caller's entry. @throws ServiceError `trash_entry_not_found`
 */
export async function findEntry(
  { trash }: Transaction,
  caller: Caller,
  id: string,
  now: number,
): Promise<TrashEntry> {
  const entry = await trash.find(caller.email, id, now);
  if (!entry) throw errors.trashEntryNotFound();
  return entry;
}

/**
 * Deletes entries of the caller's trash permanently: all of them, or none on any failure.
 * @throws ServiceError `out_of_scope`, `trash_entry_not_found`
 */
export async function deleteFromTrash(
  context: VaultContext,
  caller: Caller,
  ids: readonly string[],
): Promise<Pick<RestoredRecord, "id" | "kind" | "name">[]> {
  requireUnlimited(caller.scope);
  const now = context.clock.now();
  return writeAs(context, caller, async (transaction) => {
    const removal = new Removal();
    const deleted: Pick<RestoredRecord, "id" | "kind" | "name">[] = [];
    for (const id of new Set(ids)) {
      const { kind, name } = await findEntry(transaction, caller, id, now);
      await removal.remove(transaction, { kind, id });
      deleted.push({ id, kind, name });
    }
    return deleted;
  });
}

/** Entries that one transaction of `emptyTrash` removes. */
const PER_BATCH = 200;

/**
 * Deletes everything in the caller's trash permanently, in transactions of some entries each.
 * Returns their number.
 * @throws ServiceError `out_of_scope`
 */
export async function emptyTrash(context: VaultContext, caller: Caller): Promise<number> {
  requireUnlimited(caller.scope);
  let deleted = 0;
  for (let size = PER_BATCH; size === PER_BATCH; deleted += size) {
    size = await writeAs(context, caller, async (transaction) => {
      const removal = new Removal();
      const entries = await transaction.trash.oldest(caller.email, PER_BATCH);
      for (const entry of entries) await removal.remove(transaction, entry);
      return entries.length;
    });
  }
  return deleted;
}
