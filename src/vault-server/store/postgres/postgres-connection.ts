import { types, type ClientBase, type CustomTypesConfig, type QueryResult } from "pg";
import { postgresFailure } from "./postgres-failure.ts";
import { placesOf, Row, valuesOf } from "../sql/row.ts";
import type { SqlConnection, SqlValue } from "../sql/sql-connection.ts";

/** bigint columns hold what JavaScript counts exactly. */
export const columnTypes: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format)),
};

interface Prepared {
  readonly name: string;
  readonly text: string;
}

const prepared = new Map<string, Prepared>();
let preparations = 0;

/** The statement with PostgreSQL's placeholders, under the name by which a connection keeps it prepared. */
function prepare(sql: string): Prepared {
  const known = prepared.get(sql);
  if (known) return known;
  let position = 0;
  const text = sql.replaceAll(/\?([0-9]*)/gu, (_, number: string) => `$${number === "" ? (position += 1) : number}`);
  preparations += 1;
  const statement = { name: `vaultsync_${preparations}`, text };
  prepared.set(sql, statement);
  return statement;
}

/** From now on every connection prepares anew: another replica's migration has outdated what is prepared. */
export function forgetPrepared(): void {
  prepared.clear();
}

// PostgreSQL's texts hold every character but NUL. It is written as U+FFFF, which stands for no character, and a digit; so is U+FFFF
// itself, so that both come back. Texts without NUL keep their order by code point.
function toColumn(value: SqlValue): SqlValue | Buffer {
  if (typeof value === "string") return value.replaceAll("\uFFFF", "\uFFFF1").replaceAll("\0", "\uFFFF0");
  // The client takes nothing else for bytes as they are.
  return typeof value === "number" ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function fromColumn(value: unknown): unknown {
  // Most have nothing to replace, and are many.
  if (typeof value !== "string" || !value.includes("\uFFFF")) return value;
  return value.replaceAll("\uFFFF0", "\0").replaceAll("\uFFFF1", "\uFFFF");
}

/** One connection to PostgreSQL, used by one transaction at a time. Its statements stay prepared. */
export class PostgresConnection implements SqlConnection {
  readonly #client: ClientBase;
  readonly #wiped: () => void;

  /** @param wiped called when sealed bytes were removed or replaced */
  constructor(client: ClientBase, wiped: () => void) {
    this.#client = client;
    this.#wiped = wiped;
  }

  async #query(sql: string, values: SqlValue[]): Promise<QueryResult> {
    try {
      return await this.#client.query({ ...prepare(sql), values: values.map(toColumn), rowMode: "array" });
    } catch (error) {
      throw postgresFailure(error);
    }
  }

  /** Statements without placeholders; answers what the last one was. */
  async exec(sql: string): Promise<string> {
    try {
      const results: QueryResult | QueryResult[] = await this.#client.query(sql);
      return (Array.isArray(results) ? results.at(-1) : results)?.command ?? "";
    } catch (error) {
      throw postgresFailure(error);
    }
  }

  async get(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    const [row] = await this.all(sql, ...values);
    return row;
  }

  async all(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    const result = await this.#query(sql, values);
    const places = placesOf(result.fields.map(({ name }) => name));
    return result.rows.map((row) => new Row(places, valuesOf(row).map(fromColumn)));
  }

  async run(sql: string, ...values: SqlValue[]): Promise<number> {
    const { rowCount } = await this.#query(sql, values);
    return rowCount ?? 0;
  }

  async wipe(sql: string, ...values: SqlValue[]): Promise<number> {
    const changed = await this.run(sql, ...values);
    if (changed > 0) this.#wiped();
    return changed;
  }
}
