import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { writeBackup } from "../../vault-server/backup/write-backup.ts";
import { dataOption, openExistingStore, refusePassword } from "./data-option.ts";
import { givenKeys, masterKeysOption, requireKey } from "./master-keys-option.ts";
import { progressLine } from "../progress-line.ts";

interface BackupFlags {
  readonly data: string;
  readonly to: string;
  readonly force?: boolean;
  readonly masterKeyFile?: string;
}

const HELP = `
Servers keep running. The file holds accounts, tokens' digests, secrets, files, teams and grants as they are at one moment; values and files
stay encrypted under the master key, which is not in it: keep both, apart. Left out are web sessions, links that were mailed, and failed
log-ins. With the master key given, it is checked to be the right one.

Examples:
  vaultsync vault backup --data vault.db --to /backups/vault-2026-11-21
  vaultsync vault backup --data postgres://vault@db.example.com/vault --to latest --force --master-key-file master.key`;

async function backup(flags: BackupFlags, command: Command): Promise<void> {
  refusePassword(command);
  process.umask(0o077);
  const keys = givenKeys(flags);
  await using store = await openExistingStore(flags.data);
  const line = progressLine(systemClock);
  let rows = 0;
  await writeBackup({
    store,
    to: flags.to,
    replace: flags.force === true,
    clock: systemClock,
    progress: (written) => line(`backed up so far: ${(rows = written)} rows`),
    checkKey: (id) => requireKey(keys, id),
  });
  process.stderr.write(`backed up ${rows} rows to ${flags.to}\n`);
}

/** `vaultsync vault backup`: issue 4, point 6. */
export function backupCommand(parent: Command): void {
  parent
    .command("backup")
    .description("Writes all data as it is at one moment to a file, while servers run.")
    .addOption(dataOption().makeOptionMandatory())
    .requiredOption("--to <file>", "the backup; must not exist yet")
    .option("--force", "replace the file, once the new backup is whole")
    .addOption(masterKeysOption("checked to be the right one"))
    .addHelpText("after", HELP)
    .action((flags: BackupFlags, command: Command) => backup(flags, command));
}
