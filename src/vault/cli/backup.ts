import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { writeBackup } from "../server/backup/write-backup.ts";
import { dataOption, openExistingStore, rejectPassword } from "./data-option.ts";
import { masterKeyCommandOption } from "./master-key-command.ts";
import {
  authenticatingKeys,
  masterKeysOption,
  requireKey,
  unauthenticatedOption,
  type MasterKeyFlags,
} from "./master-keys-option.ts";
import { progressLine } from "./progress-line.ts";

interface BackupFlags extends MasterKeyFlags {
  readonly data: string;
  readonly to: string;
  readonly force?: boolean;
  readonly unauthenticated?: boolean;
}

const HELP = `
Servers can keep running. The backup is a consistent snapshot of users, token
digests, secrets, files, teams and shares. Values and files stay encrypted under
the master key, which is not part of the backup: store both, separately. Web
sessions, emailed links and failed logins are omitted. A key derived from the
master key authenticates the file.

Examples:
  vaultsync vault backup --data vault.db --to vault-2026-11-21 \\
    --master-key-file master.key
  vaultsync vault backup --data postgres://vault@db.example.com/vault \\
    --to latest --force --master-key-file master.key`;

async function backup(flags: BackupFlags, command: Command): Promise<void> {
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

/** Adds `vaultsync vault backup`. */
export function backupCommand(parent: Command): void {
  parent
    .command("backup")
    .description("Write a consistent snapshot of all data to a file, while servers run.")
    .addOption(dataOption().makeOptionMandatory())
    .requiredOption("--to <file>", "backup file; must not exist yet")
    .option("--force", "replace an existing file once the new backup is complete")
    .addOption(
      masterKeysOption("file with the master key of the data, which authenticates the backup"),
    )
    .addOption(masterKeyCommandOption())
    .addOption(
      unauthenticatedOption(
        "write a backup that anyone can change unnoticed, without a master key",
      ),
    )
    .addHelpText("after", HELP)
    .action((flags: BackupFlags, command: Command) => backup(flags, command));
}
