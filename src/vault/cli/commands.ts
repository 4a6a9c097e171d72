import { type Command, InvalidArgumentError } from "commander";
import type { ShowFlags, VerifyFlags } from "./audit.ts";
import type { BackupFlags, RestoreFlags } from "./backup.ts";
import { dataOption, addMasterKeyOptions } from "./data-options.ts";
import type { InventoryFlags } from "./inventory.ts";
import type { RotateKeyFlags } from "./rotate-key.ts";

function addKeyCommands(vault: Command): void {
  const key = vault.command("key").description("Manage master keys.");
  key
    .command("generate")
    .description(
      "Generate a master key in a file that only its owner can read. Keep a copy: without the key the data is lost.",
    )
    .argument("<file>", "key file; must not exist yet")
    .action(async (file: string) => (await import("./key.ts")).generateKey(file));
  key
    .command("list")
    .description(
      "Print the ids of the master keys in a file, one per line. An id reveals nothing about its key.",
    )
    .argument("<file>", "key file: base64-encoded master keys, one per line")
    .action(async (file: string) => (await import("./key.ts")).listKeys(file));
}

function parseTimestamp(text: string): number {
  const at = Date.parse(text);
  if (Number.isNaN(at))
    throw new InvalidArgumentError(
      "expected a timestamp, for example 2026-11-21 or 2026-11-21T06:00:00Z",
    );
  return at;
}

function addAuditCommands(vault: Command): void {
  const audit = vault
    .command("audit")
    .description("Verify and show the audit log of a vault server.");
  const verify = audit
    .command("verify")
    .description(
      "Verify that no line was altered, removed, inserted or moved. With --data, also verify that the log was not truncated or rewritten " +
        "since the database last recorded its end. With the master key, also verify that servers with that key wrote all lines and recorded that end. Exit codes: 0 intact, 1 damaged or unreadable, 2 usage error.",
    )
    .argument("<file...>", "audit log; its rotated segments are included")
    .addOption(dataOption());
  addMasterKeyOptions(
    verify,
    "file with the master key of the data, which authenticates lines and the recorded end",
  )
    .option("--partial", "accept a log whose oldest segments were removed")
    .action(async (files: string[], flags: VerifyFlags, command: Command) =>
      (await import("./audit.ts")).verify(files, flags, command),
    );
  audit
    .command("show")
    .description("Print entries, one per line, without verifying them.")
    .argument("<file...>", "audit log; its rotated segments are included")
    .option("--who <email>", "entries of this user, or of requests that claimed to be this user")
    .option("--operation <name>", "entries of this operation, for example expose")
    .option("--name <name>", "entries about this secret, file or team")
    .option("--since <time>", "entries at or after this time", parseTimestamp)
    .option("--json", "print the JSON lines of the log")
    .action(async (files: string[], flags: ShowFlags, command: Command) =>
      (await import("./audit.ts")).show(files, flags, command),
    );
}

function addInventoryCommand(vault: Command): void {
  vault
    .command("inventory")
    .description(
      "Print a JSON line for each account, secret and file of a store, with metadata and shares. It needs no master key: if the key is lost, the lines say what to store again.",
    )
    .addOption(dataOption().makeOptionMandatory())
    .action(async (flags: InventoryFlags) =>
      (await import("./inventory.ts")).printInventory(flags),
    );
}

const ROTATE_HELP = `
Servers can keep running. With --master-key-file alone, the command generates a
new key and appends it to the file, which the servers must read too (the same
file or a shared one), rewraps the key of every secret and file, and moves the
old key to FILE.<id>.retired, which only earlier backups still need. If servers
get their keys from elsewhere, first give each of them the new key in addition
to the old one. Run the same command again after an interruption. Exit code 1: a
record could not be read, or a share was not written by a server; all others
were rewrapped.

Examples:
  vaultsync vault rotate-key --data vault.db --master-key-file master.key
  vaultsync vault rotate-key --data postgres://vault@db.example.com/vault \\
    --master-key-file keys --to 5f0c7a3b9d1e2846`;

function addRotateKeyCommand(vault: Command): void {
  const rotateKey = vault
    .command("rotate-key")
    .description("Rotate the master key, while servers run.")
    .addOption(dataOption().makeOptionMandatory());
  addMasterKeyOptions(rotateKey, "file with the current master key; the new one is appended")
    .option(
      "--to <id>",
      "id of a key that every server already has, instead of a new one (see `vaultsync vault key list`)",
    )
    .addHelpText("after", ROTATE_HELP)
    .action(async (flags: RotateKeyFlags, command: Command) =>
      (await import("./rotate-key.ts")).rotateKey(flags, command),
    );
}

const BACKUP_HELP = `
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

function addBackupCommand(vault: Command): void {
  const backup = vault
    .command("backup")
    .description("Write a consistent snapshot of all data to a file, while servers run.")
    .addOption(dataOption().makeOptionMandatory())
    .requiredOption("--to <file>", "backup file; must not exist yet")
    .option("--force", "replace an existing file once the new backup is complete");
  addMasterKeyOptions(
    backup,
    "file with the master key of the data, which authenticates the backup",
  )
    .option(
      "--unauthenticated",
      "write a backup that anyone can change unnoticed, without a master key",
    )
    .addHelpText("after", BACKUP_HELP)
    .action(async (flags: BackupFlags, command: Command) =>
      (await import("./backup.ts")).backup(flags, command),
    );
}

const RESTORE_HELP = `
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

function addRestoreCommand(vault: Command): void {
  const restore = vault
    .command("restore")
    .description("Restore a backup into an empty store, or verify it without restoring.")
    .requiredOption("--from <file>", "backup file, written by `vaultsync vault backup`")
    .addOption(dataOption())
    .option("--verify", "verify the file without restoring it")
    .option(
      "--keep-tokens",
      "restore access and refresh tokens too, even those that were revoked after the backup",
    );
  addMasterKeyOptions(restore, "file with the master key of the backup, which authenticates it")
    .option("--unauthenticated", "accept a backup that has no MAC, or whose MAC cannot be verified")
    .addHelpText("after", RESTORE_HELP)
    .action(async (flags: RestoreFlags, command: Command) =>
      (await import("./backup.ts")).restore(flags, command),
    );
}

/**
 * Adds the definitions of the commands for a server's keys, audit log and backups. Each loads its
 * action when it runs.
 */
export function addAdministration(vault: Command): void {
  addKeyCommands(vault);
  addAuditCommands(vault);
  addInventoryCommand(vault);
  addRotateKeyCommand(vault);
  addBackupCommand(vault);
  addRestoreCommand(vault);
}
