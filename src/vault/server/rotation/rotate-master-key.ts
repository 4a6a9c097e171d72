import type { Clock } from "../../../lib/clock.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import { resignAnchors } from "../audit/anchor.ts";
import type { KeyFile } from "../crypto/key-file.ts";
import type { KeyRing } from "../crypto/key-ring.ts";
import { generateMasterKey, MasterKey } from "../crypto/master-key.ts";
import type { WrappedRecord } from "../store/records.ts";
import { type RightRow, rightNames, type RightName } from "../store/tables/rotation-tables.ts";
import { background, type Store, type Transaction } from "../store/store.ts";
import { CURRENT_KEY } from "../store/current-key.ts";
import { rewrap, type Rewrapped, YIELD_FACTOR } from "./rewrap.ts";
import { RowMacs } from "../store/row-macs.ts";

/** Rows per transaction: writers wait only milliseconds for so few. */
const BATCH_SIZE = 200;

interface Work {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly clock: Clock;
}

interface Resealed {
  readonly resealed: number;
  /** Rows that no server has written. They are unchanged. */
  readonly damaged: readonly RightRow[];
}

async function resealBatch(
  macs: RowMacs,
  { settings, rights }: Transaction,
  {
    table,
    id,
    after,
  }: { readonly table: RightName; readonly id: string; readonly after: RightRow | undefined },
): Promise<Resealed & { readonly last: RightRow | undefined }> {
  if ((await settings.get(CURRENT_KEY)) !== id) throw new Error("another rotation has started");
  const rows = await rights.otherThan(table, id, after, BATCH_SIZE);
  const damaged: RightRow[] = [];
  for (const row of rows) {
    if (macs.matches(table, row.fields, row.mac))
      await rights.setMac(row, macs.of(macs.keys.get(id), table, row.fields));
    else damaged.push(row);
  }
  return { resealed: rows.length - damaged.length, damaged, last: rows.at(-1) };
}

async function resealAll({ store, keys, clock }: Work, id: string): Promise<Resealed> {
  const macs = new RowMacs(keys);
  let resealed = 0;
  const damaged: RightRow[] = [];
  for (const table of rightNames) {
    let after: RightRow | undefined;
    // Read first, because most tables have nothing left.
    for (;;) {
      const from = after;
      if ((await store.read(({ rights }) => rights.otherThan(table, id, from, 1))).length === 0)
        break;
      const startedAt = clock.monotonic();
      const batch = await store.write((transaction) =>
        resealBatch(macs, transaction, { table, id, after: from }),
      );
      resealed += batch.resealed;
      damaged.push(...batch.damaged);
      after = batch.last;
      if (!after) break;
      await clock.sleep(YIELD_FACTOR * (clock.monotonic() - startedAt));
    }
  }
  return { resealed, damaged };
}

/**
 * Seals the rows that decide who reads what under the current master key, in small transactions.
 * Returns the rows that no server has written.
 * @throws Error when the data has another current key
 */
async function resealRights(work: Work, id: string): Promise<readonly RightRow[]> {
  // Again, for rows that were written by transactions that had read the former key.
  for (;;) {
    const { resealed, damaged } = await resealAll(work, id);
    if (resealed === 0) return damaged;
  }
}

/**
 * Name of the setting that stores the id of the target key of a rotation in progress; empty when
 * there is none.
 */
const ROTATION = "master_key_rotation";

export interface Rotation {
  readonly store: Store;
  readonly keys: KeyRing;
  /**
   * Target: a new key, added to this file that the servers read; or a key that every server already
   * has.
   */
  readonly to:
    | { readonly kind: "new"; readonly file: KeyFile }
    | { readonly kind: "known"; readonly id: string };
  readonly clock: Clock;
  readonly progress: (done: number, total: number) => void;
}

export interface RotationResult {
  /** Id of the new current key. */
  readonly id: string;
  readonly rewrapped: number;
  /**
   * Versions whose key cannot be unwrapped: altered, swapped, or wrapped by an unknown key. They
   * are unchanged.
   */
  readonly unreadable: readonly WrappedRecord[];
  /**
   * Accounts, tokens, teams and shares that no server has written. They give nothing and are
   * unchanged.
   */
  readonly damagedRights: readonly RightRow[];
  /** Paths of the files with the keys that were removed from the key file. */
  readonly retired: readonly string[];
}

/**
 * The writer that changes the key. It waits for writes in progress: what they seal under the former
 * key is in no row yet, and nothing would seal it again.
 */
const alone = { ...background, alone: true };

/** @throws Error when the current key of the data is not in the key ring */
async function readCurrentKey({ keys }: Rotation, { settings }: Transaction): Promise<string> {
  const current = await settings.get(CURRENT_KEY);
  if (current === undefined) throw new Error("nothing to rotate: the data has no master key yet");
  if (!keys.find(current))
    throw new Error(`the data is encrypted under another master key: expected ${current}`);
  return current;
}

/**
 * Makes the target key the current one in one transaction, or resumes an interrupted rotation.
 * Returns the id of the key.
 */
async function start(rotation: Rotation, fresh: Redacted<Uint8Array>): Promise<string> {
  const { store, keys, to } = rotation;
  return store.write(async (transaction) => {
    const { settings } = transaction;
    const current = await readCurrentKey(rotation, transaction);
    const interrupted = (await settings.get(ROTATION)) === current;
    if (to.kind === "new" && interrupted) return current;
    const id = to.kind === "new" ? new MasterKey(fresh).id : to.id;
    // First: no other rotation changes the file until this transaction ends.
    await settings.set(ROTATION, id);
    // Before the data names the key: servers must find it. Within the transaction: two rotations
    // take turns.
    if (to.kind === "new") to.file.add(fresh);
    await resignAnchors(transaction, keys.get(current), keys.get(id));
    await settings.set(CURRENT_KEY, id);
    return id;
  }, alone);
}

/**
 * Returns the number of records wrapped by another master key; it cannot grow.
 * @throws Error when it exceeds the unreadable ones
 */
async function countRemaining(
  { store }: Rotation,
  id: string,
  { unreadable }: Rewrapped,
): Promise<number> {
  const left = await store.write(({ wrappedKeys }) => wrappedKeys.countOtherThan(id));
  if (left > unreadable.length)
    throw new Error(
      `${left} records are still wrapped by another master key: run the command again`,
    );
  return left;
}

/**
 * Ends the rotation and retires the other keys, in a transaction: two rotations take turns at the
 * file.
 */
async function finish(
  { store, to }: Rotation,
  id: string,
  left: number,
): Promise<readonly string[]> {
  return store.write(async ({ settings }) => {
    await settings.set(ROTATION, "");
    if ((await settings.get(CURRENT_KEY)) !== id) throw new Error("another rotation has started");
    return left === 0 && to.kind === "new" ? to.file.retireAllBut(id) : [];
  });
}

/**
 * Changes the master key while servers run. First the new key becomes the current one, then every
 * data key is rewrapped, and every right is sealed again; sealed bytes are unchanged. When no
 * record depends on another key, the other keys are removed from the file. An interrupted rotation
 * is completed by calling this again.
 * @throws Error when the key ring lacks the current key, the file cannot be written, or another
 * rotation takes over
 */
export async function rotateMasterKey(rotation: Rotation): Promise<RotationResult> {
  const id = await start(rotation, generateMasterKey());
  const damagedRights = await resealRights(rotation, id);
  const rewrapped = await rewrap(rotation, id);
  const retired = await finish(rotation, id, await countRemaining(rotation, id, rewrapped));
  // Overwrites remaining copies of data keys wrapped by the old key.
  await rotation.store.scrub();
  return { id, ...rewrapped, damagedRights, retired };
}
