import { join } from "node:path";
import { expect, test } from "vitest";
import { SqliteConnection } from "./sqlite-connection.ts";
import { TestDirectory } from "../../../../../test/lab/test-directory.ts";

const directory = new TestDirectory();
/** Statements of some milliseconds each. */
const STATEMENTS = 20;

test("a file system without shared memory is rejected with its missing property", () => {
  const path = join(directory.path, "vault.db");
  // The VFS of SQLite for file systems without POSIX locks maps no shared memory.
  expect(() => new SqliteConnection(`file:${path}?vfs=unix-dotfile`)).toThrow(
    /the file system of .*vault\.db.* does not support shared memory mappings or POSIX locks.*journal_mode is delete, expected wal/u,
  );
});

test("a file and a database in memory open", async () => {
  for (const location of [join(directory.path, "vault.db"), ":memory:"]) {
    const connection = new SqliteConnection(location);
    expect((await connection.get("PRAGMA journal_mode"))?.text("journal_mode")).toBe(
      location === ":memory:" ? "memory" : "wal",
    );
    connection.close();
  }
});

test("statements started together run in order and leave the event loop to others", async () => {
  const connection = new SqliteConnection(":memory:");
  await connection.run("CREATE TABLE t (n INTEGER)");
  const numbers =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)";
  const state = { turns: 0, ended: false };
  const count = (): void => {
    state.turns += 1;
    if (!state.ended) setImmediate(count);
  };
  connection.begin();
  setImmediate(count);
  const order: number[] = [];
  await Promise.all(
    Array.from({ length: STATEMENTS }, async (_, index) => {
      await connection.run(`INSERT INTO t ${numbers} SELECT ${index} FROM n WHERE i = 100000`);
      order.push(index);
    }),
  );
  state.ended = true;
  expect(state.turns).toBeGreaterThan(STATEMENTS / 2);
  expect(order).toEqual(Array.from({ length: STATEMENTS }, (_, index) => index));
  const rows = await connection.all("SELECT n FROM t ORDER BY rowid");
  expect(rows.map((row) => row.number("n"))).toEqual(order);
  connection.close();
});
