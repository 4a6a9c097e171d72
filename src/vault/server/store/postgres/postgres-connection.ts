import { types, type ClientBase, type CustomTypesConfig, type QueryResult } from "pg";
import { postgresFailure } from "./postgres-failure.ts";
import { positionsOf, Row, valuesOf, type SqlValue } from "../sql/row.ts";
import type { SqlConnection } from "../sql/sql-connection.ts";

/** Parses bigint columns as numbers: their values are safe integers. */
export const columnTypes: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format),
};

interface Prepared {
  readonly name: string;
  readonly text: string;
}

const prepared = new Map<string, Prepared>();
let preparations = 0;

/**
 * Returns the statement with PostgreSQL's placeholders and the name under which connections prepare
 * it.
 */
function prepare(sql: string): Prepared {
  const known = prepared.get(sql);
  if (known) return known;
  let position = 0;
  const text = sql.replaceAll(
    /\?([0-9]*)/gu,
    (_, number: string) => `$${number === "" ? (position += 1) : number}`,
  );
  preparations += 1;
  const statement = { name: `vaultsync_${preparations}`, text };
  prepared.set(sql, statement);
  return statement;
}

/**
 * Makes every connection prepare its statements again, after another replica's migration has
 * outdated them.
 */
export function forgetPrepared(): void {
  prepared.clear();
}

// PostgreSQL's text columns accept every character except NUL. NUL is escaped as U+FFFF (a
// noncharacter) and a digit; so is U+FFFF itself. Texts without NUL keep their order by code point.
function toColumn(value: SqlValue): SqlValue | Buffer {
  if (typeof value === "string")
    return value.replaceAll("\uFFFF", "\uFFFF1").replaceAll("\0", "\uFFFF0");
  // The client accepts bytes only as a Buffer.
  return typeof value === "number"
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function fromColumn(value: unknown): unknown {
  // Fast path: most values contain no escape.
  if (typeof value !== "string" || !value.includes("\uFFFF")) return value;
  return value.replaceAll("\uFFFF0", "\0").replaceAll("\uFFFF1", "\uFFFF");
}

/** One connection to PostgreSQL with its prepared statements, used by one transaction at a time. */
export class PostgresConnection implements SqlConnection {
  readonly #client: ClientBase;
  readonly #wiped: () => void;
  #failure: unknown;

  /** @param wiped called when sealed bytes were removed or replaced */
  constructor(client: ClientBase, wiped: () => void) {
    this.#client = client;
    this.#wiped = wiped;
  }

  /**
   * The failure of the first failed statement of the transaction; statements sent after it fail as
   * well.
   */
  get failure(): unknown {
    return this.#failure;
  }

  /** Ends the transaction with a failure: what it has started runs no statements any more. */
  end(failure: unknown): void {
    this.#failure ??= failure;
  }

  #failed(error: unknown): unknown {
    this.#failure ??= postgresFailure(error);
    return this.#failure;
  }

  async #query(sql: string, values: SqlValue[]): Promise<QueryResult> {
    // It would run after the rollback, in no transaction.
    if (this.#failure !== undefined) throw this.#failure;
    try {
      return await this.#client.query({
        ...prepare(sql),
        values: values.map(toColumn),
        rowMode: "array",
      });
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Runs statements without placeholders; returns the command tag of the last one. */
  async exec(sql: string): Promise<string> {
    try {
      const results: QueryResult | QueryResult[] = await this.#client.query(sql);
      return (Array.isArray(results) ? results.at(-1) : results)?.command ?? "";
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async get(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    const [row] = await this.all(sql, ...values);
    return row;
  }

  async all(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    const result = await this.#query(sql, values);
    const positions = positionsOf(result.fields.map(({ name }) => name));
    return result.rows.map((row) => new Row(positions, valuesOf(row).map(fromColumn)));
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
