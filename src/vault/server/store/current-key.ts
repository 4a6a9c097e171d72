import type { KeyRing } from "../crypto/key-ring.ts";
import type { MasterKey } from "../crypto/master-key.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Store, Transaction } from "./store.ts";

/** Name of the setting that stores the id of the current master key. */
export const CURRENT_KEY = "master_key";

/**
 * Returns the master key that wraps new data keys. Its id is read within the same transaction: the
 * old key wraps nothing once a rotation has started.
 * @throws Error when the key ring does not have it
 */
export async function currentKey(
  keys: KeyRing,
  { settings }: Pick<Transaction, "settings">,
): Promise<MasterKey> {
  const id = await settings.get(CURRENT_KEY);
  if (id === undefined) throw new Error("the data has no master key: start a server on it first");
  return keys.get(id);
}

/** A master key that wraps records but is not in the key ring. */
interface MissingKey {
  readonly id: string;
  readonly records: number;
}

async function missingKeys(keys: KeyRing, { wrappedKeys }: Transaction): Promise<MissingKey[]> {
  const ids = (await wrappedKeys.masterKeyIds()).filter((id) => !keys.find(id));
  const missing: MissingKey[] = [];
  for (const id of ids) missing.push({ id, records: await wrappedKeys.countOf(id) });
  return missing;
}

/**
 * Sets the first key of the ring as current in new data. @throws Error when the current key of the
 * data is not in the ring
 */
async function checkCurrentKey(keys: KeyRing, { settings }: Transaction): Promise<void> {
  const [first] = keys.ids;
  const known = await settings.get(CURRENT_KEY);
  if (known === undefined && first !== undefined) return settings.set(CURRENT_KEY, first);
  if (known === undefined || !keys.find(known)) {
    throw new Error(`the data is encrypted under another master key: expected ${known}`);
  }
}

export interface CheckKeysOptions {
  /** Warns about missing keys of records instead of throwing. */
  readonly allowMissing?: boolean | undefined;
  readonly logger: Logger;
}

/**
 * @throws Error when the current key of the data, or a key that records need, is not in the ring
 */
export async function checkMasterKeys(
  store: Store,
  keys: KeyRing,
  { allowMissing, logger }: CheckKeysOptions,
): Promise<void> {
  await store.write((transaction) => checkCurrentKey(keys, transaction));
  const missing = await store.read((transaction) => missingKeys(keys, transaction));
  if (missing.length === 0) return;
  if (allowMissing === true) {
    for (const { id, records } of missing) {
      logger.warn(
        { event: "master_key_missing", masterKey: id, records },
        "master key missing, its records are unreadable",
      );
    }
    return;
  }
  const list = missing
    .map(({ id, records }) => `${id} (${records} ${records === 1 ? "record" : "records"})`)
    .join(", ");
  throw new Error(
    `the data needs master keys that are missing: ${list}; add them to the master key file, or, if they are lost, start with ` +
      "--allow-missing-keys, which leaves these records unreadable",
  );
}
