import type { Store } from "../store/store.ts";
import type { BackupFile, BackupSummary } from "./backup-file.ts";

/**
 * Restores a backup into an empty store, in one transaction.
 * @throws Error when the store is not empty, or the backup cannot be read
 */
export async function restoreBackup(store: Store, backup: BackupFile, progress: (rows: number) => void): Promise<BackupSummary> {
  return store.write(async ({ tables }) => {
    const used = await tables.firstWithRows();
    if (used !== undefined) throw new Error(`the data is not empty, ${used} has rows: restore into an empty store`);
    let restored = 0;
    return backup.read(async ({ table, cells }) => {
      await tables.insert(table, cells);
      restored += 1;
      progress(restored);
    });
  });
}
