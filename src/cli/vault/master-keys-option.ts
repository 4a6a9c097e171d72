import { Option } from "commander";
import { KeyFile, parseMasterKeys } from "../../vault-server/crypto/key-file.ts";
import { KeyRing } from "../../vault-server/crypto/key-ring.ts";

/** Returns the option `--master-key-file`, whose value {@link masterKeys} reads. */
export function masterKeysOption(description: string): Option {
  return new Option("--master-key-file <file>", `${description} (or VAULTSYNC_VAULT_MASTER_KEY)`).env(
    "VAULTSYNC_VAULT_MASTER_KEY_FILE",
  );
}

/** Returns the master keys of a file, which may change while a server runs, or of the environment. @throws Error with a remedy */
export function masterKeys(flags: { readonly masterKeyFile?: string }): KeyRing | undefined {
  if (flags.masterKeyFile !== undefined) return new KeyRing(new KeyFile(flags.masterKeyFile));
  const text = process.env.VAULTSYNC_VAULT_MASTER_KEY;
  return text === undefined ? undefined : new KeyRing({ read: () => parseMasterKeys(text) });
}

/** @throws Error when keys are given and this one is missing */
export function requireKey(keys: KeyRing | undefined, id: string): void {
  if (!keys || keys.find(id)) return;
  throw new Error(`the data is encrypted under another master key, ${id}, than the given ones: add that key to the key file`);
}
