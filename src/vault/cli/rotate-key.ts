import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { KeyFile } from "../server/crypto/key-file.ts";
import {
  rotateMasterKey,
  type Rotation,
  type RotationResult,
} from "../server/rotation/rotate-master-key.ts";
import { rejectPassword, type MasterKeyFlags } from "./data-options.ts";
import { masterKeys } from "./master-keys.ts";
import { progressLine } from "./terminal.ts";
import { openExistingStore } from "../server/store/open-store.ts";

/** Flags of `vaultsync vault rotate-key`. */
export interface RotateKeyFlags extends MasterKeyFlags {
  readonly data: string;
  readonly to?: string;
}

function rotationOf(flags: RotateKeyFlags, command: Command): Pick<Rotation, "keys" | "to"> {
  const keys = masterKeys(flags);
  if (!keys)
    return command.error(
      "error: specify the master keys with --master-key-file FILE, or with --master-key-command or VAULTSYNC_VAULT_MASTER_KEY and --to",
    );
  if (flags.to !== undefined) return { keys, to: { kind: "known", id: flags.to } };
  if (flags.masterKeyFile === undefined) {
    return command.error(
      "error: specify the file for the new key with --master-key-file FILE, or an existing key with --to ID",
    );
  }
  return { keys, to: { kind: "new", file: new KeyFile(flags.masterKeyFile) } };
}

function report({ id, rewrapped, unreadable, damagedRights, retired }: RotationResult): void {
  for (const { kind, owner, name, version, key } of unreadable) {
    const record = `version ${version} of the ${kind} ${JSON.stringify(name)} of ${owner}`;
    process.stderr.write(`skipped ${record}: the master key ${key.keyId} does not open it\n`);
  }
  for (const { table, key } of damagedRights) {
    process.stderr.write(
      `skipped the row ${JSON.stringify(key)} of ${table}: no server with the master key has written it\n`,
    );
  }
  process.stderr.write(
    `the master key is ${id}; rewrapped ${rewrapped} keys, skipped ${unreadable.length}\n`,
  );
  if (unreadable.length === 0) {
    process.stderr.write(
      "no record needs a former key: remove it from the servers, and keep it elsewhere for earlier backups\n",
    );
  }
  for (const path of retired)
    process.stderr.write(`earlier backups need the old key, which is now in ${path}\n`);
}

/** Rewraps the key of every record under another master key. */
export async function rotateKey(flags: RotateKeyFlags, command: Command): Promise<void> {
  rejectPassword(command);
  process.umask(0o077);
  const rotation = rotationOf(flags, command);
  await using store = await openExistingStore(flags.data);
  const line = progressLine(systemClock);
  const progress = (done: number, total: number): void =>
    line(`rewrapped ${done} of ${total} keys`);
  const result = await rotateMasterKey({ ...rotation, store, clock: systemClock, progress });
  report(result);
  if (result.unreadable.length > 0 || result.damagedRights.length > 0) process.exitCode = 1;
}
