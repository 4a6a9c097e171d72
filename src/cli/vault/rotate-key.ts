import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { KeyFile } from "../../vault-server/crypto/key-file.ts";
import { rotateMasterKey, type Rotation, type RotationResult } from "../../vault-server/rotation/rotate-master-key.ts";
import { dataOption, openExistingStore, refusePassword } from "./data-option.ts";
import { givenKeys, masterKeysOption } from "./master-keys-option.ts";
import { progressLine } from "../progress-line.ts";

interface RotateKeyFlags {
  readonly data: string;
  readonly masterKeyFile?: string;
  readonly to?: string;
}

const HELP = `
Servers keep running. With --master-key-file alone a new key is made and added to the file, which the servers must read as well (it may be
the same file, or a shared one); every key of a secret or file is wrapped anew; then the old key moves to FILE.<id>.retired, which only
backups made before still need. Where servers have their keys from elsewhere, give all of them the new key beside the old one first.
Cut short, the same command finishes. Exit code 1 when a record could not be read; all others are done.

Examples:
  vaultsync vault rotate-key --data vault.db --master-key-file master.key
  vaultsync vault rotate-key --data postgres://vault@db.example.com/vault --master-key-file keys --to 5f0c7a3b9d1e2846`;

function rotationOf(flags: RotateKeyFlags, command: Command): Pick<Rotation, "keys" | "to"> {
  const keys = givenKeys(flags);
  if (!keys)
    return command.error("error: give the master keys with --master-key-file FILE, or VAULTSYNC_VAULT_MASTER_KEY with --to");
  if (flags.to !== undefined) return { keys, to: { kind: "known", id: flags.to } };
  if (flags.masterKeyFile === undefined) {
    return command.error(
      "error: a new key needs --master-key-file FILE to be kept in; for one that the servers have, say --to ID",
    );
  }
  return { keys, to: { kind: "new", file: new KeyFile(flags.masterKeyFile) } };
}

function report({ id, rewrapped, unreadable, retired }: RotationResult): void {
  for (const { kind, owner, name, version, key } of unreadable) {
    const record = `version ${version} of the ${kind} ${JSON.stringify(name)} of ${owner}`;
    process.stderr.write(`left as it is: ${record}, which the master key ${key.keyId} does not open\n`);
  }
  process.stderr.write(
    `the master key is ${id}; ${rewrapped} keys were wrapped anew, ${unreadable.length} are left under another one\n`,
  );
  for (const path of retired) process.stderr.write(`backups made before need the old key: it is in ${path}\n`);
}

async function rotateKey(flags: RotateKeyFlags, command: Command): Promise<void> {
  refusePassword(command);
  process.umask(0o077);
  const rotation = rotationOf(flags, command);
  await using store = await openExistingStore(flags.data);
  const line = progressLine(systemClock);
  const progress = (done: number, total: number): void => line(`wrapped anew: ${done} of ${total}`);
  const result = await rotateMasterKey({ ...rotation, store, clock: systemClock, progress });
  report(result);
  if (result.unreadable.length > 0) process.exitCode = 1;
}

/** `vaultsync vault rotate-key`: issue 4, point 5. */
export function rotateKeyCommand(parent: Command): void {
  parent
    .command("rotate-key")
    .description("Changes the master key, while servers run.")
    .addOption(dataOption().makeOptionMandatory())
    .addOption(masterKeysOption("the key there is; gets the new one"))
    .option("--to <id>", "the id of a key that every server has already, instead of a new one (`vaultsync vault key list`)")
    .addHelpText("after", HELP)
    .action((flags: RotateKeyFlags, command: Command) => rotateKey(flags, command));
}
