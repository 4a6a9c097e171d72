import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { writeBackup, restoreBackup } from "../server/backup/backup.ts";
import { rejectPassword, type MasterKeyFlags } from "./data-options.ts";
import { authenticatingKeys, requireKey } from "./master-keys.ts";
import { progressLine } from "./terminal.ts";
import { BackupFile, type BackupSummary } from "../server/backup/backup-file.ts";
import { openForCommand, openExistingStore } from "../server/store/open-store.ts";

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

/** Flags of `vaultsync vault restore`. */
export interface RestoreFlags extends MasterKeyFlags {
  readonly data?: string;
  readonly from: string;
  readonly verify?: boolean;
  readonly keepTokens?: boolean;
  readonly unauthenticated?: boolean;
}

function total({ end }: BackupSummary): number {
  return Object.values(end.rows).reduce((sum, count) => sum + count, 0);
}

/** Restores a backup into an empty store, or verifies it. */
export async function restore(flags: RestoreFlags, command: Command): Promise<void> {
  rejectPassword(command);
  process.umask(0o077);
  const { data, from, verify } = flags;
  if (data === undefined && verify !== true)
    return command.error("error: specify the store to restore into with --data, or add --verify");
  const keys = authenticatingKeys(flags, command);
  const unauthenticated = flags.unauthenticated === true;
  await using file = await BackupFile.open(from, {
    keyOf: (id) => keys && requireKey(keys, id),
    unauthenticated,
  });
  const summary = await file.read(() => undefined);
  if (keys) requireKey(keys, summary.head.key);
  const others = summary.end.keys.filter((id) => id !== summary.head.key);
  process.stderr.write(
    `${from}: made at ${summary.head.made_at}, ${total(summary)} rows, master key ${summary.head.key}\n`,
  );
  if (others.length > 0)
    process.stderr.write(
      `some records are encrypted under other master keys: ${others.join(", ")}\n`,
    );
  if (verify === true || data === undefined) return;
  const line = progressLine(systemClock);
  await using store = await openForCommand(data);
  const keepTokens = flags.keepTokens === true;
  const progress = (rows: number): void =>
    line(`restored so far: ${rows} of ${total(summary)} rows`);
  await restoreBackup(store, file, { progress, keepTokens });
  process.stderr.write(
    `restored ${total(summary)} rows${keepTokens ? "" : " except tokens: users and programs log in again"}\n`,
  );
}
