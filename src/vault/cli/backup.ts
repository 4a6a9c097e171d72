import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { writeBackup } from "../server/backup/write-backup.ts";
import { rejectPassword } from "./data-option.ts";
import { openExistingStore } from "./existing-store.ts";
import type { MasterKeyFlags } from "./master-key-options.ts";
import { authenticatingKeys, requireKey } from "./master-keys.ts";
import { progressLine } from "./terminal.ts";

/** Flags of `vaultsync vault backup`. */
export interface BackupFlags extends MasterKeyFlags {
  readonly data: string;
  readonly to: string;
  readonly force?: boolean;
  readonly unauthenticated?: boolean;
}

/** Writes a snapshot of all data to a file. */
export async function backup(flags: BackupFlags, command: Command): Promise<void> {
  rejectPassword(command);
  process.umask(0o077);
  const keys = authenticatingKeys(flags, command);
  await using store = await openExistingStore(flags.data);
  const line = progressLine(systemClock);
  let rows = 0;
  await writeBackup({
    store,
    to: flags.to,
    replace: flags.force === true,
    clock: systemClock,
    progress: (written) => line(`backed up so far: ${(rows = written)} rows`),
    keyOf: (id) => keys && requireKey(keys, id),
  });
  process.stderr.write(`backed up ${rows} rows to ${flags.to}\n`);
}
