import { existsSync } from "node:fs";
import type { Command } from "commander";
import { KeyFile, parseMasterKeys } from "../server/crypto/key-file.ts";
import type { MasterKey } from "../server/crypto/master-key.ts";
import { KeyRing } from "../server/crypto/key-ring.ts";
import { masterKeysOfCommand } from "./master-key-command.ts";
import type { MasterKeyFlags } from "./master-key-options.ts";

/**
 * Returns the master keys of a file, of a command or of the environment. The file may change while
 * a server runs; the command runs now.
 * @throws Error with a remedy
 */
export function masterKeys({
  masterKeyFile,
  masterKeyCommand,
}: MasterKeyFlags): KeyRing | undefined {
  if (masterKeyFile !== undefined) {
    if (!existsSync(masterKeyFile))
      throw new Error(`master key file not found: ${masterKeyFile} (--master-key-file)`);
    return new KeyRing(new KeyFile(masterKeyFile));
  }
  const text = process.env.VAULTSYNC_VAULT_MASTER_KEY;
  if (masterKeyCommand !== undefined) {
    if (text !== undefined)
      throw new Error(
        "--master-key-command and VAULTSYNC_VAULT_MASTER_KEY exclude each other: drop one of them",
      );
    const keys = masterKeysOfCommand(masterKeyCommand);
    return new KeyRing({ read: () => keys });
  }
  return text === undefined ? undefined : new KeyRing({ read: () => parseMasterKeys(text) });
}

/**
 * Returns the master key that authenticates a backup. @throws Error when it is not among the given
 * ones
 */
export function requireKey(keys: KeyRing, id: string): MasterKey {
  const key = keys.find(id);
  if (key) return key;
  throw new Error(
    `the data is encrypted under another master key, ${id}, than the given ones: add that key to the key file`,
  );
}

/**
 * Returns the keys that authenticate a backup, or `undefined` for an unauthenticated one. Without
 * either, ends with a usage error.
 */
export function authenticatingKeys(
  flags: MasterKeyFlags & { readonly unauthenticated?: boolean },
  command: Command,
): KeyRing | undefined {
  const keys = masterKeys(flags);
  if (keys || flags.unauthenticated === true) return keys;
  return command.error(
    "error: specify the master key that authenticates the backup with --master-key-file FILE or --master-key-command, or add --unauthenticated",
  );
}
