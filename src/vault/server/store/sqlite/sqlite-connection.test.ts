import { join } from "node:path";
import { expect, test } from "vitest";
import { SqliteConnection } from "./sqlite-connection.ts";
import { TestDirectory } from "../../../../../test/lab/test-directory.ts";

const directory = new TestDirectory();

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
