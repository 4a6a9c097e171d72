import type { KeyRing } from "../crypto/key-ring.ts";
import { checkMasterKeys, currentKey, type CheckKeysOptions } from "./current-key.ts";
import { RowMacs } from "./row-macs.ts";
import type { Store, Transaction } from "./store.ts";
import { rightNames, type RightName, type RightRow } from "./tables/rotation-tables.ts";

/**
 * Name of the setting that is present once the rows of the data have MACs. It is no secret: without
 * it a server refuses to start, and seals nothing.
 */
const SEALED = "rights";
/** Purpose of the derived key of the confirmation. */
const CONFIRMATION = "rights confirmation v1";
const CONFIRMATION_LENGTH = 16;
const PAGE_SIZE = 200;

/** Yields the rows of a table that have no MAC of this master key. */
async function* rowsOtherThan(
  { rights }: Transaction,
  table: RightName,
  masterKeyId: string,
): AsyncGenerator<RightRow> {
  let page = await rights.otherThan(table, masterKeyId, undefined, PAGE_SIZE);
  while (page.length > 0) {
    yield* page;
    page = await rights.otherThan(table, masterKeyId, page.at(-1), PAGE_SIZE);
  }
}

/** Yields the rows without a MAC. */
async function* unsealed(transaction: Transaction, masterKeyId: string): AsyncGenerator<RightRow> {
  for (const table of rightNames) {
    for await (const row of rowsOtherThan(transaction, table, masterKeyId))
      if (row.mac === "") yield row;
  }
}

/** The confirmation that seals exactly these rows. */
interface Unsealed {
  readonly count: number;
  readonly confirmation: string;
}

export interface CheckDataOptions extends CheckKeysOptions {
  /** The confirmation, named by an earlier start, of the rows to seal. */
  readonly seal?: string | undefined;
}

async function sealRows(
  keys: KeyRing,
  transaction: Transaction,
  { seal, logger }: CheckDataOptions,
): Promise<void> {
  const { settings, rights } = transaction;
  if ((await settings.get(SEALED)) !== undefined) return;
  const key = await currentKey(keys, transaction);
  const mac = key.mac(CONFIRMATION);
  let count = 0;
  for await (const { table, fields } of unsealed(transaction, key.id)) {
    mac.update(`${JSON.stringify([table, ...fields])}\n`);
    count += 1;
  }
  const found: Unsealed = { count, confirmation: mac.digest("hex").slice(0, CONFIRMATION_LENGTH) };
  if (count > 0 && seal !== found.confirmation) throw refusal(found);
  const macs = new RowMacs(keys);
  for await (const row of unsealed(transaction, key.id))
    await rights.setMac(row, macs.of(key, row.table, row.fields));
  await settings.set(SEALED, "sealed");
  if (count > 0)
    logger.warn(
      { event: "rights_sealed", rows: count },
      "sealed the accounts, tokens, teams and shares of the data",
    );
}

function refusal({ count, confirmation }: Unsealed): Error {
  return new Error(
    `no MAC authenticates the accounts, tokens, teams and shares of the data (${count} ${count === 1 ? "row" : "rows"}): if no server of this release has used ` +
      `the data yet, stop all servers of the earlier one and start once with --seal-rights ${confirmation}; otherwise the database was changed: restore a backup`,
  );
}

/**
 * Requires the master keys that records need (`checkMasterKeys`), and that the rows that decide who
 * reads what have MACs. Rows of an earlier release are sealed in one transaction, if `seal`
 * confirms them: which rows are to be believed cannot depend on anything that a writer of the
 * database can set back.
 * @throws Error when a master key is missing; with the confirmation when rows have no MACs and it
 * is missing or belongs to other rows
 */
export async function checkData(
  store: Store,
  keys: KeyRing,
  options: CheckDataOptions,
): Promise<void> {
  await checkMasterKeys(store, keys, options);
  await store.write((transaction) => sealRows(keys, transaction, options));
}
