import type { Clock } from "../../lib/clock.ts";
import type { Identity } from "../crypto/aead.ts";
import type { KeyRing } from "../crypto/key-ring.ts";
import type { WrappedKey } from "../crypto/master-key.ts";
import { blobIdentity } from "../files/blob.ts";
import { valueIdentity } from "../secrets/secret-value.ts";
import type { WrappedRecord } from "../store/records.ts";
import type { Store, Transaction } from "../store/store.ts";
import { CURRENT_KEY } from "../store/current-key.ts";

/** Records in one transaction: few, so that writers wait for milliseconds only. */
const AT_ONCE = 50;
/** After a transaction others may write for as many times as long as it took. */
const YIELD_FACTOR = 2;

export interface Rewrapped {
  readonly rewrapped: number;
  readonly unreadable: readonly WrappedRecord[];
}

interface Work {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly clock: Clock;
  readonly progress: (done: number, total: number) => void;
}

function identityOf(record: WrappedRecord): Identity {
  switch (record.kind) {
    case "secret":
      return valueIdentity(record, record.version);
    case "file":
      return blobIdentity(record, record.version, record.blobId, record.size);
  }
}

/** The record's own key, wrapped by that master key; `undefined` when the one it names does not open it. */
function wrappedAnew(keys: KeyRing, record: WrappedRecord, id: string): WrappedKey | undefined {
  const identity = identityOf(record);
  let dataKey: Uint8Array;
  try {
    dataKey = keys.get(record.key.keyId).unwrap(record.key, identity);
  } catch {
    return undefined;
  }
  try {
    return keys.get(id).wrap(dataKey, identity);
  } finally {
    dataKey.fill(0);
  }
}

async function rewrapBatch(
  keys: KeyRing,
  { settings, wrappedKeys }: Transaction,
  batch: { readonly kind: WrappedRecord["kind"]; readonly id: string; readonly after: WrappedRecord | undefined },
): Promise<Rewrapped & { last: WrappedRecord | undefined }> {
  const { kind, id, after } = batch;
  if ((await settings.get(CURRENT_KEY)) !== id) throw new Error("another rotation has started");
  const unreadable: WrappedRecord[] = [];
  let rewrapped = 0;
  const records = await wrappedKeys.otherThan(kind, id, after, AT_ONCE);
  for (const record of records) {
    const key = wrappedAnew(keys, record, id);
    if (!key) unreadable.push(record);
    else if (await wrappedKeys.replace(record, key)) rewrapped += 1;
  }
  return { rewrapped, unreadable, last: records.at(-1) };
}

/**
 * Wraps the own key of every record that another master key wraps by this one, in small transactions; what cannot be unwrapped is left.
 * @throws Error when the data names another current key
 */
export async function rewrap({ store, keys, clock, progress }: Work, id: string): Promise<Rewrapped> {
  const total = await store.read(({ wrappedKeys }) => wrappedKeys.countOtherThan(id));
  const unreadable: WrappedRecord[] = [];
  let rewrapped = 0;
  for (const kind of ["secret", "file"] as const) {
    let after: WrappedRecord | undefined;
    do {
      const from = after;
      const began = clock.monotonic();
      const batch = await store.write((transaction) => rewrapBatch(keys, transaction, { kind, id, after: from }));
      unreadable.push(...batch.unreadable);
      rewrapped += batch.rewrapped;
      after = batch.last;
      progress(rewrapped + unreadable.length, total);
      if (after) await clock.sleep(YIELD_FACTOR * (clock.monotonic() - began));
    } while (after);
  }
  return { rewrapped, unreadable };
}
