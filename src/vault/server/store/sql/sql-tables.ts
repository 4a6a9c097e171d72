import type { SqlValue } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { RawTables } from "../tables/raw-tables.ts";
import { backedUpTables, omittedTables, type TableShape } from "../tables/raw-tables.ts";

function placeholders({ length }: readonly string[]): string {
  return Array<string>(length).fill("?").join(", ");
}

/** Selects the rows after another one in the order of the key, or the first rows. */
function pageSql({ name, columns, key }: TableShape, after: boolean): string {
  const condition = after ? `WHERE (${key.join(", ")}) > (${placeholders(key)})` : "";
  return `SELECT ${columns.join(", ")} FROM ${name} ${condition} ORDER BY ${key.join(", ")} LIMIT ?`;
}

function keyOf({ columns, key }: TableShape, row: readonly SqlValue[]): SqlValue[] {
  return key.map((column) => row[columns.indexOf(column)] ?? "");
}

export function sqlTables(db: SqlConnection): RawTables {
  return {
    async page(table, after, atMost) {
      const rows = await db.all(
        pageSql(table, after !== undefined),
        ...(after ? keyOf(table, after) : []),
        atMost,
      );
      return rows.map((row) => table.columns.map((column) => row.value(column)));
    },
    async insert({ name, columns }, row) {
      await db.run(
        `INSERT INTO ${name} (${columns.join(", ")}) VALUES (${placeholders(columns)})`,
        ...row,
      );
    },
    async firstWithRows() {
      for (const name of [...backedUpTables.map((table) => table.name), ...omittedTables]) {
        if (await db.get(`SELECT 1 AS one FROM ${name} LIMIT 1`)) return name;
      }
      return undefined;
    },
  };
}
