import type { Clock } from "../../lib/clock.ts";
import type { Redacted } from "../../lib/redacted.ts";
import type { KeyFile } from "../crypto/key-file.ts";
import type { KeyRing } from "../crypto/key-ring.ts";
import { generateMasterKey, MasterKey } from "../crypto/master-key.ts";
import type { WrappedRecord } from "../store/records.ts";
import type { Store, Transaction } from "../store/store.ts";
import { CURRENT_KEY } from "../store/current-key.ts";
import { rewrap, type Rewrapped } from "./rewrap.ts";

/** The setting that holds the id of the master key that is being changed to; empty when none is. */
const ROTATION = "master_key_rotation";

export interface Rotation {
  readonly store: Store;
  readonly keys: KeyRing;
  /** To a new key, made and kept in this file, which the servers read; or to one that every server has already. */
  readonly to: { readonly kind: "new"; readonly file: KeyFile } | { readonly kind: "known"; readonly id: string };
  readonly clock: Clock;
  readonly progress: (done: number, total: number) => void;
}

export interface RotationResult {
  /** The id of the key that wraps now. */
  readonly id: string;
  readonly rewrapped: number;
  /** Versions that the key they name does not open: altered, swapped, or of a key that is not there. Left as they were. */
  readonly unreadable: readonly WrappedRecord[];
  /** Where the keys that left the file are now. */
  readonly retired: readonly string[];
}

/** @throws Error when the keys are not those of the data */
async function presentKey({ keys }: Rotation, { settings }: Transaction): Promise<string> {
  const current = await settings.get(CURRENT_KEY);
  if (current === undefined) throw new Error("nothing to rotate: the data has no master key yet");
  if (!keys.find(current)) throw new Error(`the data is encrypted under another master key: expected ${current}`);
  return current;
}

/** Makes the key to change to the current one, in one transaction; goes on with a rotation that was cut short. Answers the key's id. */
async function begin(rotation: Rotation, fresh: Redacted<Uint8Array>): Promise<string> {
  const { store, keys, to } = rotation;
  return store.write(async (transaction) => {
    const { settings } = transaction;
    const current = await presentKey(rotation, transaction);
    const cutShort = (await settings.get(ROTATION)) === current;
    if (to.kind === "new" && cutShort) return current;
    const id = to.kind === "new" ? new MasterKey(fresh).id : to.id;
    // First of all: it keeps another rotation from the file until this transaction is over.
    await settings.set(ROTATION, id);
    // Before the data names it, so that whoever meets its id finds it; within the transaction, so that two rotations take turns.
    if (to.kind === "new") to.file.add(fresh);
    keys.get(id);
    await settings.set(CURRENT_KEY, id);
    return id;
  });
}

/** Answers how many records are under another master key, after which none can become so. @throws Error when more than these are */
async function proveNoneLeft({ store }: Rotation, id: string, { unreadable }: Rewrapped): Promise<number> {
  const left = await store.write(({ wrappedKeys }) => wrappedKeys.countOtherThan(id));
  if (left > unreadable.length) throw new Error(`${left} records are still wrapped by another master key: run the command again`);
  return left;
}

/** Once the proof is committed; a transaction, as `begin`, so that two rotations take turns at the file. */
async function finish({ store, to }: Rotation, id: string, left: number): Promise<readonly string[]> {
  return store.write(async ({ settings }) => {
    await settings.set(ROTATION, "");
    if ((await settings.get(CURRENT_KEY)) !== id) throw new Error("another rotation has started");
    return left === 0 && to.kind === "new" ? to.file.retireAllBut(id) : [];
  });
}

/**
 * Changes the master key while servers run: from one moment on they wrap under the new one, then every record's own key is wrapped anew,
 * while sealed bytes stay as they are; when no record is left under another key, the others leave the file. Cut short anywhere, calling
 * it again finishes. Source: issue 4, point 5.
 * @throws Error when the keys are not those of the data, the file cannot be written, or another rotation takes over
 */
export async function rotateMasterKey(rotation: Rotation): Promise<RotationResult> {
  const id = await begin(rotation, generateMasterKey());
  const rewrapped = await rewrap(rotation, id);
  const retired = await finish(rotation, id, await proveNoneLeft(rotation, id, rewrapped));
  // What the old key opens is overwritten wherever the store still holds it.
  await rotation.store.scrub();
  return { id, ...rewrapped, retired };
}
