import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { spyOnStatements } from "../lab/vault/statement-spy.ts";
import { TestVault } from "../lab/vault/test-vault.ts";

const directory = new TestDirectory();
const VERSIONS = 5_000;
/** Rows of one statement, whatever the number of versions. */
const MOST_ROWS = 1_001;

/** Adds versions without bytes to all files: requests would take minutes for them. */
function addVersions(data: string): void {
  using database = new DatabaseSync(data, { timeout: 30_000 });
  database.exec(`BEGIN;
    INSERT INTO file_versions (file_id, version, size, created_at, blob_id, key_id, wrapped_key, sealed)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${VERSIONS - 1})
      SELECT file_id, i + 1, size, created_at, blob_id || i, key_id, wrapped_key, sealed FROM n, file_versions;
    UPDATE files SET next_version = ${VERSIONS + 1};
    COMMIT`);
}

/** Records how many rows one statement of the server returned or changed at most. */
function recordRows(): Disposable & { readonly recorded: { most: number } } {
  const recorded = { most: 0 };
  const spies = spyOnStatements((_, work, rowsOf) => {
    const result = work();
    recorded.most = Math.max(recorded.most, rowsOf(result));
    return result;
  });
  return { recorded, [Symbol.dispose]: () => spies[Symbol.dispose]() };
}

test("no statement reads or changes more rows the more versions a file has", async () => {
  const data = directory.join("vault.db");
  await using vault = await TestVault.start({ data, trashDays: 30, clock: new VirtualClock() });
  const ann = await vault.client("ann@example.com");
  for (const filename of ["a", "b", "c"])
    await ann.upload([{ filename, bytes: Buffer.from(filename) }]);
  addVersions(data);
  using rows = recordRows();
  const remove = (body: object) => ann.call("delete_file", body);
  expect((await remove({ filename: "a", version: VERSIONS + 1 })).outcome()).toBe(
    "404 version_not_found",
  );
  expect((await remove({ filename: "a", version: 7 })).json()).toEqual({
    deleted: { filename: "a", versions: [7] },
  });

  const trashed = (await remove({ filename: "a" })).json();
  expect(trashed.deleted.versions).toHaveLength(VERSIONS - 1);
  const [{ id }] = trashed.trash;
  expect((await ann.call("trash_restore", { id, name: "other" })).outcome()).toBe("413 too_large");
  expect((await ann.call("trash_restore", { id })).outcome()).toBe("200");

  const removed = (await remove({ filename: "a", permanently: true })).json();
  expect(removed.deleted.versions).toEqual(trashed.deleted.versions);
  const [other] = (await remove({ filename: "b" })).json().trash;
  expect((await ann.call("trash_delete", { id: other.id })).outcome()).toBe("200");
  await remove({ filename: "c" });
  expect((await ann.call("trash_empty")).json()).toEqual({ deleted: 1 });
  expect((await ann.call("list_file")).json().files).toEqual([]);
  expect(rows.recorded.most).toBeLessThanOrEqual(MOST_ROWS);
});
