import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { spyOnStatements } from "../lab/vault/statement-spy.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

const directory = new TestDirectory();
const ann = "ann@example.com";
const bob = "bob@example.com";
const MIB = 1024 * 1024;
/** 200 versions of 1 MiB with `VAULTSYNC_TEST_LARGE=1`. */
const VERSIONS = process.env["VAULTSYNC_TEST_LARGE"] === "1" ? 200 : 20;

const PATIENT = { timeout: 30_000 };

/** Versions of a large file, and most that one statement of the sweeper removes. */
const FILE_VERSIONS = 1_000;
const SWEPT_TOGETHER = 200;

interface Rows {
  readonly versions: number;
  readonly bytes: number;
  readonly grants: number;
}

/** Returns what the data file has: what a request removes in its transaction is the difference. */
function rowsIn(data: string): Rows {
  const database = new DatabaseSync(data, { readOnly: true });
  try {
    const number = (sql: string): number =>
      Number(Object.values(database.prepare(sql).get() ?? {})[0]);
    return {
      versions: number("SELECT count(*) FROM secret_versions"),
      bytes: number("SELECT coalesce(sum(octet_length(sealed)), 0) FROM secret_versions"),
      grants: number("SELECT count(*) FROM person_grants"),
    };
  } finally {
    database.close();
  }
}

/** Starts a server whose sweeper waits for the clock. */
async function start(name: string) {
  const clock = new VirtualClock();
  const data = directory.join(`${name}.db`);
  const vault = await TestVault.start({ data, clock, limits: { requestBurst: 10_000 } });
  const sweptRows = async (): Promise<Rows> => {
    await clock.advance(10_000);
    return rowsIn(data);
  };
  return { vault, clock, rows: () => rowsIn(data), sweptRows };
}

async function fill(
  caller: VaultClient,
  name: string,
  versions: number,
  bytes: number,
  more: object = {},
): Promise<void> {
  for (let version = 1; version <= versions; version += 1) {
    const body = { key_name: name, key_value: "x".repeat(bytes), ...more };
    expect((await caller.call("protect", body)).outcome()).toBe("200");
  }
}

const share = (caller: VaultClient, names: string[], usr_id_to: string[]) =>
  caller.call("share", { key_name: names, usr_id_from: ann, usr_id_to, permission: "R" });
const recipients = (count: number): string[] => [
  bob,
  ...Array.from({ length: count - 1 }, (_, n) => `user${n}@example.com`),
];

test("delete erases no version of a large secret itself; its name restarts at version 1", async () => {
  const { vault, rows, sweptRows } = await start("large");
  await using _vault = vault;
  const [caller, other] = [await vault.client(ann), await vault.client(bob)];
  await fill(caller, "a", VERSIONS, MIB);
  expect((await share(caller, ["a"], [bob])).status).toBe(200);
  const before = rows();
  expect((await caller.call("delete", { key_name: "a" })).outcome()).toBe("200");
  expect(rows()).toEqual(before);
  for (const user of [caller, other]) {
    expect((await user.call("list_no_dup")).json().secrets).toEqual([]);
    for (const operation of ["expose", "expose_link", "version_list"] as const) {
      expect((await user.call(operation, { key_name: "a" })).outcome()).toBe(
        "404 secret_not_found",
      );
    }
  }
  expect(
    (await caller.call("protect", { key_name: "a", key_value: "new" })).json().secret.key_version,
  ).toBe(1);
  expect((await other.call("list_no_dup")).json().secrets).toEqual([]);
  await expect.poll(sweptRows, PATIENT).toMatchObject({ versions: 1 });
  expect((await caller.call("expose", { key_name: "a" })).json().key_value).toBe("new");
  expect(await vault.metric("vaultsync_vault_secrets_removed_total")).toBe(0);
});

test("delete of a secret with many grants and protect of a due name remove none of their rows", async () => {
  const { vault, clock, rows, sweptRows } = await start("grants");
  await using _vault = vault;
  const caller = await vault.client(ann);
  await fill(caller, "shared", 1, 1);
  await fill(caller, "due", 20, 1, { delete_time: 1 });
  expect((await share(caller, ["shared"], recipients(50))).status).toBe(200);
  const before = rows();
  expect((await caller.call("delete", { key_name: "shared" })).outcome()).toBe("200");
  clock.stepWall(60_000);
  expect(
    (await caller.call("protect", { key_name: "due", key_value: "new" })).json().secret.key_version,
  ).toBe(1);
  expect(rows()).toMatchObject({ versions: before.versions + 1, grants: before.grants });
  await expect.poll(sweptRows, PATIENT).toMatchObject({ versions: 1, grants: 0 });
});

test("delete of many secrets erases at most 4 MiB itself, and a small secret immediately", async () => {
  const { vault, rows, sweptRows } = await start("many");
  await using _vault = vault;
  const caller = await vault.client(ann);
  const key_name = Array.from({ length: 10 }, (_, index) => `name-${index}`);
  for (const name of key_name) await fill(caller, name, 1, MIB);
  await fill(caller, "small", 3, 10);
  const before = rows();
  expect((await caller.call("delete", { key_name: "small" })).outcome()).toBe("200");
  expect(before.versions - rows().versions).toBe(3);
  expect((await caller.call("delete", { key_name })).outcome()).toBe("200");
  expect(before.bytes - rows().bytes).toBeLessThan(4.1 * MIB);
  expect((await caller.call("list_no_dup")).json().secrets).toEqual([]);
  await expect.poll(sweptRows, PATIENT).toEqual({ versions: 0, bytes: 0, grants: 0 });
});

/** Adds versions without bytes to all files: requests would take minutes for them. */
function addFileVersions(data: string): void {
  using database = new DatabaseSync(data, { timeout: 30_000 });
  database.exec(`BEGIN;
    INSERT INTO file_versions (file_id, version, size, created_at, blob_id, key_id, wrapped_key, sealed)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${FILE_VERSIONS - 1})
      SELECT file_id, i + 1, size, created_at, blob_id || i, key_id, wrapped_key, sealed FROM n, file_versions;
    UPDATE files SET next_version = ${FILE_VERSIONS + 1};
    COMMIT`);
}

/** Fails the statement that removes versions of a file once, after another one; counts their rows. */
function interruptRemoval(): Disposable & { readonly removed: number[] } {
  const removed: number[] = [];
  let interrupted = false;
  const spy = spyOnStatements((sql, work, rowsOf) => {
    if (!sql.startsWith("DELETE FROM file_versions")) return work();
    if (removed.length === 1 && !interrupted) {
      interrupted = true;
      throw new Error("interrupted");
    }
    const result = work();
    removed.push(rowsOf(result));
    return result;
  });
  return { removed, [Symbol.dispose]: () => spy[Symbol.dispose]() };
}

test.each([
  [
    "delete_file of a large file",
    async (caller: VaultClient) => {
      const deletion = { filename: "a", permanently: true };
      const { deleted } = (await caller.call("delete_file", deletion)).json();
      expect(deleted.versions).toHaveLength(FILE_VERSIONS);
    },
  ],
  [
    "trash_delete of a large file",
    async (caller: VaultClient) => {
      const [{ id }] = (await caller.call("delete_file", { filename: "a" })).json().trash;
      expect((await caller.call("trash_delete", { id })).outcome()).toBe("200");
      expect((await caller.call("trash_restore", { id })).outcome()).toBe(
        "404 trash_entry_not_found",
      );
    },
  ],
  [
    "trash_empty with a large file",
    async (caller: VaultClient) => {
      await caller.call("delete_file", { filename: "a" });
      for (const deleted of [1, 0])
        expect((await caller.call("trash_empty")).json()).toEqual({ deleted });
    },
  ],
])("%s removes no version itself, an interrupted sweep is resumed", async (_, remove) => {
  const clock = new VirtualClock();
  const data = directory.join("files.db");
  await using vault = await TestVault.start({ data, clock, trashDays: 30 });
  const caller = await vault.client(ann);
  const bytes = Buffer.from("first");
  await caller.upload([{ filename: "a", bytes }]);
  addFileVersions(data);
  const versions = (): number => {
    using database = new DatabaseSync(data, { readOnly: true });
    return Number(database.prepare("SELECT count(*) AS n FROM file_versions").get()?.["n"]);
  };
  await remove(caller);
  expect(versions()).toBe(FILE_VERSIONS);
  const nothing = async (): Promise<void> => {
    expect((await caller.call("list_file")).json()).toEqual({ files: [] });
    expect((await caller.call("trash_list")).json().trash).toEqual([]);
    expect((await caller.call("download_file", { filename: "a", version: 900 })).outcome()).toBe(
      "404 file_not_found",
    );
  };
  await nothing();
  using interrupted = interruptRemoval();
  await expect
    .poll(() => clock.advance(10_000).then(versions), PATIENT)
    .toBe(FILE_VERSIONS - SWEPT_TOGETHER);
  await nothing();
  await caller.upload([{ filename: "a", bytes }]);
  await expect.poll(() => clock.advance(10_000).then(versions), PATIENT).toBe(1);
  expect(Math.max(...interrupted.removed)).toBe(SWEPT_TOGETHER);
  const [{ versions: listed }] = (await caller.call("list_file")).json().files;
  expect(listed).toMatchObject([{ version: 1 }]);
});
