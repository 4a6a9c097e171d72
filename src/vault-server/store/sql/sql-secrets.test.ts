import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { TestDirectory } from "../../../../test/support/test-directory.ts";
import { SqliteConnection } from "../sqlite/sqlite-connection.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { sqlSecrets } from "./sql-secrets.ts";

const directory = new TestDirectory();

/** Returns how a statement reads the versions of the secrets that it selects. */
function versionPlan(database: DatabaseSync, sql: string): string[] {
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  return plan.map(({ detail }) => String(detail)).filter((detail) => /^(?:SEARCH|SCAN) (?:v|secret_versions)\b/u.test(detail));
}

test("statements about a secret read one of its versions, however many there are", async () => {
  const file = directory.join("plans.db");
  const connection = new SqliteConnection(file);
  const statements: string[] = [];
  const recorded: SqlConnection = {
    get: (sql, ...values) => (statements.push(sql), connection.get(sql, ...values)),
    all: (sql, ...values) => (statements.push(sql), connection.all(sql, ...values)),
    run: (sql, ...values) => connection.run(sql, ...values),
    wipe: (sql, ...values) => connection.wipe(sql, ...values),
  };
  const secrets = sqlSecrets(recorded);
  await secrets.accessByName("ann@example.com", "a", 0);
  await secrets.ownByName("ann@example.com", "a", 0);
  await secrets.accessByIds("ann@example.com", ["id"], 0);
  connection.close();
  using database = new DatabaseSync(file);
  const plans = new Set(statements.flatMap((sql) => versionPlan(database, sql)));
  const [index, latest] = ["sqlite_autoindex_secret_versions_1", "secret_versions USING COVERING INDEX"];
  expect([...plans].sort()).toEqual([
    `SEARCH ${latest} ${index} (secret_id=?)`,
    `SEARCH v USING INDEX ${index} (secret_id=? AND version=?)`,
  ]);
});
