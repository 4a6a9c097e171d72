import type { Store } from "../store/store.ts";
import type { BackupFile, BackupSummary } from "./backup-file.ts";

/** Tables of credentials that may have been revoked since the backup. */
const TOKEN_TABLES = ["access_tokens", "refresh_tokens"];

interface RestoreOptions {
  readonly progress: (rows: number) => void;
  /** Restores access and refresh tokens too. */
  readonly keepTokens: boolean;
}

/**
 * Restores a backup into an empty store, in one transaction. Tokens are omitted unless
 * `keepTokens`: some may have been revoked since.
 * @throws Error when the store is not empty, or the backup cannot be read
 */
export async function restoreBackup(
  store: Store,
  backup: BackupFile,
  { progress, keepTokens }: RestoreOptions,
): Promise<BackupSummary> {
  return store.write(async ({ tables }) => {
    const used = await tables.firstWithRows();
    if (used !== undefined)
      throw new Error(`the data is not empty, ${used} has rows: restore into an empty store`);
    let restored = 0;
    return backup.read(async ({ table, cells }) => {
      if (!keepTokens && TOKEN_TABLES.includes(table.name)) return;
      await tables.insert(table, cells);
      restored += 1;
      progress(restored);
    });
  });
}
