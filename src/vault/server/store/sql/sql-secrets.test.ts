import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { TestDirectory } from "../../../../../test/lab/test-directory.ts";
import { SqliteConnection } from "../sqlite/sqlite-connection.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { SecretTable } from "../tables/secret-table.ts";
import { sqlSecrets } from "./sql-secrets.ts";

const directory = new TestDirectory();

/** Returns how a statement reads tables with these names or aliases. */
function planOf(database: DatabaseSync, sql: string, tables: RegExp): string[] {
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  return plan
    .map(({ detail }) => String(detail))
    .filter((detail) => tables.test(detail.split(" ")[1] ?? ""));
}

/** Runs `read` on the tables of a new file. Returns its statements. */
async function statementsOf(
  file: string,
  read: (secrets: SecretTable) => Promise<unknown>,
): Promise<string[]> {
  const connection = new SqliteConnection(file);
  const statements: string[] = [];
  const recorded: SqlConnection = {
    get: (sql, ...values) => (statements.push(sql), connection.get(sql, ...values)),
    all: (sql, ...values) => (statements.push(sql), connection.all(sql, ...values)),
    run: (sql, ...values) => connection.run(sql, ...values),
    wipe: (sql, ...values) => connection.wipe(sql, ...values),
  };
  await read(sqlSecrets(recorded));
  connection.close();
  return statements;
}

test("statements about a secret read one of its versions, however many there are", async () => {
  const file = directory.join("plans.db");
  const statements = await statementsOf(file, async (secrets) => {
    await secrets.accessByName("ann@example.com", "a", 0);
    await secrets.ownByName("ann@example.com", "a", 0);
    await secrets.ownAccess("ann@example.com", "a", 0);
    await secrets.accessByIds("ann@example.com", ["id"], 0);
  });
  using database = new DatabaseSync(file);
  const plans = new Set(
    statements.flatMap((sql) => planOf(database, sql, /^(?:v|secret_versions)$/u)),
  );
  const [index, latest] = [
    "sqlite_autoindex_secret_versions_1",
    "secret_versions USING COVERING INDEX",
  ];
  expect([...plans].sort()).toEqual([
    `SEARCH ${latest} ${index} (secret_id=?)`,
    `SEARCH v USING INDEX ${index} (secret_id=? AND version=?)`,
  ]);
});

test("a page of own secrets reads one index for all of them, in order", async () => {
  const file = directory.join("page.db");
  const [page = ""] = await statementsOf(file, (secrets) =>
    secrets.accessByIds("ann@example.com", ["id"], 0),
  );
  using database = new DatabaseSync(file);
  expect(planOf(database, page, /^s$/u)).toEqual([
    "SEARCH s USING COVERING INDEX secrets_in_order (owner=? AND name>? AND name<?)",
  ]);
});
