import type { Clock } from "../../../lib/clock.ts";
import type { KeyRing } from "../crypto/key-ring.ts";
import { CURRENT_KEY } from "../store/current-key.ts";
import { RowMacs } from "../store/row-macs.ts";
import type { Store, Transaction } from "../store/store.ts";
import { rightNames, type RightName, type RightRow } from "../store/tables/right-table.ts";
import { YIELD_FACTOR } from "./rewrap.ts";

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
export async function resealRights(work: Work, id: string): Promise<readonly RightRow[]> {
  // Again, for rows that were written by transactions that had read the former key.
  for (;;) {
    const { resealed, damaged } = await resealAll(work, id);
    if (resealed === 0) return damaged;
  }
}
