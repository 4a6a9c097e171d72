import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { BackupFile, type BackupSummary } from "../server/backup/backup-file.ts";
import { restoreBackup } from "../server/backup/restore-backup.ts";
import { openStore } from "../server/store/open-store.ts";
import { dataOption, rejectPassword } from "./data-option.ts";
import { masterKeyCommandOption } from "./master-key-command.ts";
import {
  authenticatingKeys,
  masterKeysOption,
  requireKey,
  unauthenticatedOption,
  type MasterKeyFlags,
} from "./master-keys-option.ts";
import { progressLine } from "./progress-line.ts";

interface RestoreFlags extends MasterKeyFlags {
  readonly data?: string;
  readonly from: string;
  readonly verify?: boolean;
  readonly keepTokens?: boolean;
  readonly unauthenticated?: boolean;
}

const HELP = `
The whole file is verified first, with its MAC under a key derived from the
master key. The restore is atomic and requires an empty store: a new file, or a
PostgreSQL database without tables or without rows. Tokens of the backup end,
unless --keep-tokens is set: some may have been revoked since. Passwords are
those of the backup. A backup of one kind of store can be restored into the
other. Start the server with the master key of the backup.

Examples:
  vaultsync vault restore --from vault-2026-11-21 --verify \\
    --master-key-file master.key
  vaultsync vault restore --from vault-2026-11-21 --data new.db \\
    --master-key-file master.key
  vaultsync vault restore --from vault-2026-11-21 \\
    --data postgres://vault@db.example.com/vault --master-key-file master.key`;

function total({ end }: BackupSummary): number {
  return Object.values(end.rows).reduce((sum, count) => sum + count, 0);
}

async function restore(flags: RestoreFlags, command: Command): Promise<void> {
  rejectPassword(command);
  process.umask(0o077);
  const { data, from, verify } = flags;
  if (data === undefined && verify !== true)
    return command.error("error: specify the store to restore into with --data, or add --verify");
  const keys = authenticatingKeys(flags, command);
  const unauthenticated = flags.unauthenticated === true;
  await using backup = await BackupFile.open(from, {
    keyOf: (id) => keys && requireKey(keys, id),
    unauthenticated,
  });
  const summary = await backup.read(() => undefined);
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
  await using store = await openStore(data);
  const keepTokens = flags.keepTokens === true;
  const progress = (rows: number): void =>
    line(`restored so far: ${rows} of ${total(summary)} rows`);
  await restoreBackup(store, backup, { progress, keepTokens });
  process.stderr.write(
    `restored ${total(summary)} rows${keepTokens ? "" : " except tokens: users and programs log in again"}\n`,
  );
}

/** Adds `vaultsync vault restore`. */
export function restoreCommand(parent: Command): void {
  parent
    .command("restore")
    .description("Restore a backup into an empty store, or verify it without restoring.")
    .requiredOption("--from <file>", "backup file, written by `vaultsync vault backup`")
    .addOption(dataOption())
    .option("--verify", "verify the file without restoring it")
    .option(
      "--keep-tokens",
      "restore access and refresh tokens too, even those that were revoked after the backup",
    )
    .addOption(masterKeysOption("file with the master key of the backup, which authenticates it"))
    .addOption(masterKeyCommandOption())
    .addOption(
      unauthenticatedOption("accept a backup that has no MAC, or whose MAC cannot be verified"),
    )
    .addHelpText("after", HELP)
    .action((flags: RestoreFlags, command: Command) => restore(flags, command));
}
