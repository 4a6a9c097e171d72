import { timingSafeEqual } from "node:crypto";
import type { KeyRing } from "../crypto/key-ring.ts";
import type { MasterKey } from "../crypto/master-key.ts";
import { currentKey } from "./current-key.ts";
import type { SettingTable } from "./tables/account-tables.ts";
import type { RightName } from "./tables/rotation-tables.ts";

/** Purpose of the derived key. */
const ROW_MAC = "row mac v1";
/** Characters of the id of a master key. */
const KEY_ID_LENGTH = 16;

/** The columns of a row that decide who reads what, in the order of `rightShapes`. */
export type MacFields = readonly (string | number)[];

/**
 * A row that no server with the master key has written, and what it is about: addresses and names.
 */
export interface DamagedRow {
  readonly table: RightName;
  readonly about: Readonly<Record<string, string>>;
}

/**
 * MACs of single rows: the id of a master key, then an HMAC-SHA256 under a key that is derived from
 * it. A row without the right MAC was not written by a server: a writer of the database cannot
 * invent rights (docs/adr/0013-authenticated-rights.md).
 */
export class RowMacs {
  readonly keys: KeyRing;
  readonly onDamage: (row: DamagedRow) => void;

  /** @param onDamage called for each damaged row that is read; neither throws nor uses the store */
  constructor(keys: KeyRing, onDamage: (row: DamagedRow) => void = () => undefined) {
    this.keys = keys;
    this.onDamage = onDamage;
  }

  of(key: MasterKey, table: RightName, fields: MacFields): string {
    return (
      key.id +
      key
        .mac(ROW_MAC)
        .update(JSON.stringify([table, ...fields]))
        .digest("base64url")
    );
  }

  /** Reports whether one of the master keys authenticates a row. */
  matches(table: RightName, fields: MacFields, mac: string): boolean {
    const key = mac === "" ? undefined : this.keys.find(mac.slice(0, KEY_ID_LENGTH));
    if (!key) return false;
    const [found, expected] = [Buffer.from(mac), Buffer.from(this.of(key, table, fields))];
    return found.length === expected.length && timingSafeEqual(found, expected);
  }
}

/** Seals and checks the rows of one transaction. */
export interface RowSeals {
  /**
   * Returns a MAC for each row, under the current master key; empty ones in a store without keys.
   */
  sign(table: RightName, rows: readonly MacFields[]): Promise<string[]>;
  /** Reports whether a row is authentic; reports damage. A store without keys accepts all rows. */
  accepts(table: RightName, fields: MacFields, mac: string, about: DamagedRow["about"]): boolean;
}

/** @param macs `undefined` for commands that neither write rights nor rely on them */
export function rowSeals(macs: RowMacs | undefined, settings: SettingTable): RowSeals {
  if (!macs) return { sign: async (_table, rows) => rows.map(() => ""), accepts: () => true };
  return {
    async sign(table, rows) {
      if (rows.length === 0) return [];
      const key = await currentKey(macs.keys, { settings });
      return rows.map((fields) => macs.of(key, table, fields));
    },
    accepts(table, fields, mac, about) {
      const accepted = macs.matches(table, fields, mac);
      if (!accepted) macs.onDamage({ table, about });
      return accepted;
    },
  };
}
