import type { Transaction } from "../store/store.ts";
import { Removal } from "./removal.ts";

/** Rows removed in one transaction: too few to block the event loop or to delay writers. */
export const BATCH_SIZE = 200;
/** Values, of up to 1 MiB, and chunks of files, of 256 KiB, that one transaction overwrites. */
const VALUES_PER_BATCH = 4;
export const CHUNKS_PER_BATCH = 8;
/** Entries of the trash that one transaction ends: each file may erase some megabytes. */
export const TRASH_PER_BATCH = 10;

/**
 * Removes some of the retired secrets and those past their deadline; returns the number of the
 * latter, and whether there are more.
 */
export async function removeDue(
  { secrets }: Transaction,
  now: number,
): Promise<{ removed: number; more: boolean }> {
  const due = await secrets.due(now, BATCH_SIZE);
  let removed = 0;
  let values = 0;
  let grants = 0;
  for (const { id, retired } of due) {
    values += await secrets.removeVersions(id, VALUES_PER_BATCH - values);
    if (values >= VALUES_PER_BATCH) return { removed, more: true };
    grants += await secrets.removeGrants(id, BATCH_SIZE - grants);
    if (grants >= BATCH_SIZE) return { removed, more: true };
    await secrets.remove(id);
    if (!retired) removed += 1;
  }
  return { removed, more: due.length === BATCH_SIZE };
}

/**
 * Removes some of the retired files, and of the entries of the trash that have ended; returns
 * whether there are more.
 */
export async function endTrash(transaction: Transaction, now: number): Promise<boolean> {
  const { trash, files } = transaction;
  const ended = await trash.ended(now, TRASH_PER_BATCH);
  const removal = new Removal();
  let versions = 0;
  for (const { retired, ...entry } of ended) {
    if (retired) {
      versions += await files.removeVersions(entry.id, BATCH_SIZE - versions);
      if (versions >= BATCH_SIZE) return true;
      await files.remove(entry.id);
    } else await removal.remove(transaction, entry);
  }
  return ended.length === TRASH_PER_BATCH;
}
