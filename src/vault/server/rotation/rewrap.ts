import type { Clock } from "../../../lib/clock.ts";
import type { Identity } from "../crypto/aead.ts";
import type { KeyRing } from "../crypto/key-ring.ts";
import type { WrappedKey } from "../crypto/master-key.ts";
import { blobIdentity } from "../files/blob.ts";
import { valueIdentity } from "../secrets/secret-value.ts";
import type { WrappedRecord } from "../store/records.ts";
import type { Store, Transaction } from "../store/store.ts";
import { CURRENT_KEY } from "../store/current-key.ts";

/** Records per transaction: writers wait only milliseconds for so few. */
const BATCH_SIZE = 50;
/** Pause after each transaction as a multiple of its duration, in which others can write. */
export const YIELD_FACTOR = 2;

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

/**
 * Returns the data key of a record wrapped by this master key, or `undefined` when its current
 * master key does not unwrap it.
 */
function rewrappedKey(keys: KeyRing, record: WrappedRecord, id: string): WrappedKey | undefined {
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
  batch: {
    readonly kind: WrappedRecord["kind"];
    readonly id: string;
    readonly after: WrappedRecord | undefined;
  },
): Promise<Rewrapped & { last: WrappedRecord | undefined }> {
  const { kind, id, after } = batch;
  if ((await settings.get(CURRENT_KEY)) !== id) throw new Error("another rotation has started");
  const unreadable: WrappedRecord[] = [];
  let rewrapped = 0;
  const records = await wrappedKeys.otherThan(kind, id, after, BATCH_SIZE);
  for (const record of records) {
    const key = rewrappedKey(keys, record, id);
    if (!key) unreadable.push(record);
    else if (await wrappedKeys.replace(record, key)) rewrapped += 1;
  }
  return { rewrapped, unreadable, last: records.at(-1) };
}

/**
 * Rewraps the data key of every record that another master key wraps, in small transactions. Keys
 * that cannot be unwrapped are skipped.
 * @throws Error when the data has another current key
 */
export async function rewrap(
  { store, keys, clock, progress }: Work,
  id: string,
): Promise<Rewrapped> {
  const total = await store.read(({ wrappedKeys }) => wrappedKeys.countOtherThan(id));
  const unreadable: WrappedRecord[] = [];
  let rewrapped = 0;
  for (const kind of ["secret", "file"] as const) {
    let after: WrappedRecord | undefined;
    do {
      const from = after;
      const startedAt = clock.monotonic();
      const batch = await store.write((transaction) =>
        rewrapBatch(keys, transaction, { kind, id, after: from }),
      );
      unreadable.push(...batch.unreadable);
      rewrapped += batch.rewrapped;
      after = batch.last;
      progress(rewrapped + unreadable.length, total);
      if (after) await clock.sleep(YIELD_FACTOR * (clock.monotonic() - startedAt));
    } while (after);
  }
  return { rewrapped, unreadable };
}
