import type { KeyRing } from "../crypto/key-ring.ts";
import type { MasterKey } from "../crypto/master-key.ts";
import type { Store, Transaction } from "./store.ts";

/** Name of the setting that stores the id of the current master key. */
export const CURRENT_KEY = "master_key";

/**
 * Returns the master key that wraps new data keys. Its id is read within the same transaction, so that nothing is wrapped by the
 * old key once a rotation has started.
 * @throws Error when the key ring does not have it
 */
export async function currentKey(keys: KeyRing, { settings }: Transaction): Promise<MasterKey> {
  const id = await settings.get(CURRENT_KEY);
  if (id === undefined) throw new Error("the data has no master key: start a server on it first");
  return keys.get(id);
}

/** Sets the first key of the ring as current in new data. @throws Error when the current key of the data is not in the ring */
export async function checkMasterKey(store: Store, keys: KeyRing): Promise<void> {
  await store.write(async ({ settings }) => {
    const [first] = keys.ids;
    const known = await settings.get(CURRENT_KEY);
    if (known === undefined && first !== undefined) return settings.set(CURRENT_KEY, first);
    if (known === undefined || !keys.find(known)) {
      throw new Error(`the data is encrypted under another master key: expected ${known}`);
    }
  });
}
