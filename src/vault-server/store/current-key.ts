import type { KeyRing } from "../crypto/key-ring.ts";
import type { MasterKey } from "../crypto/master-key.ts";
import type { Store, Transaction } from "./store.ts";

/** The setting that holds the id of the master key that wraps. */
export const CURRENT_KEY = "master_key";

/**
 * The master key that wraps what this transaction stores. The data names it, and it is asked within the same transaction, so that nothing
 * is wrapped under the old key once a rotation has begun (issue 4, point 5).
 * @throws Error when it is not among the keys
 */
export async function currentKey(keys: KeyRing, { settings }: Transaction): Promise<MasterKey> {
  const id = await settings.get(CURRENT_KEY);
  if (id === undefined) throw new Error("the data has no master key: start a server on it first");
  return keys.get(id);
}

/** Data without a master key gets the first one. @throws Error when it has one that is not among the keys */
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
