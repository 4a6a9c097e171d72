import { expect, test, vi } from "vitest";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { insertPostgresSecrets, insertSecrets } from "../lab/vault/insert-secrets.ts";
import { spyOnStatements } from "../lab/vault/statement-spy.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { createVaultData, onPostgres } from "../lab/vault/vault-data.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { longWork } from "../../src/vault/server/long-work.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { DatabaseSync } from "node:sqlite";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { scopeString } from "../lab/vault/vault-client.ts";

const [ANN, BOB] = ["ann@example.com", "bob@example.com"];
const SECRETS = 1_000;
/** Versions of a secret and of a file: more than one request removes in its transaction. */
const VERSIONS = 20;
/** Most rows that one statement may remove. */
const TOGETHER = 200;

test("a user with much is deleted in small transactions, with the trash and all bytes", async () => {
  const masterKey = generateMasterKey();
  const key = Buffer.from(masterKey.reveal()).toString("base64");
  await using data = await createVaultData();
  await using vault = await TestVault.start({
    data: data.location,
    masterKey,
    trashDays: 30,
    limits: { requestBurst: 1e6 },
  });
  const [ann, bob] = [await vault.client(ANN), await vault.client(BOB)];
  for (let version = 0; version < VERSIONS; version += 1) {
    await ann.call("protect", { key_name: "shared", key_value: "canary-31f0" });
    await ann.upload([{ filename: "file", bytes: Buffer.from("canary-31f0") }]);
  }
  await ann.upload([{ filename: "trashed", bytes: Buffer.alloc(2_000_000, "canary-31f0") }]);
  await ann.call("delete_file", { filename: "trashed" });
  await ann.call("protect", { key_name: "trashed", key_value: "canary-31f0" });
  await ann.call("delete", { key_name: "trashed" });
  const share = { key_name: "shared", permission: "R", usr_id_from: ANN, usr_id_to: BOB };
  await ann.call("share", share);
  if (onPostgres()) await insertPostgresSecrets(data.location, ANN, SECRETS, Date.now());
  else insertSecrets(data.location, ANN, SECRETS, Date.now());
  let most = 0;
  const run = <T>(sql: string, work: () => T, rowsOf: (result: T) => number): T => {
    const result = work();
    if (sql.trimStart().startsWith("DELETE")) most = Math.max(most, rowsOf(result));
    return result;
  };
  using _spy = spyOnStatements(run);
  const env = { VAULTSYNC_VAULT_DATA: data.location, VAULTSYNC_VAULT_MASTER_KEY: key };
  const deleted = await runInProcess(["vault", "user", "delete", ANN, "--yes"], env);
  expect(deleted).toMatchObject({ code: 0, stderr: "deleted ann@example.com\n" });
  expect(most).toBeLessThanOrEqual(TOGETHER);
  const count = async (table: string): Promise<number> =>
    (await data.select(`SELECT * FROM ${table}`)).length;
  const tables = ["secrets", "secret_versions", "files", "file_versions", "file_chunks"];
  const kept = ["staged_blobs", "trashed_secrets", "trashed_files", "person_grants"];
  for (const table of [...tables, ...kept]) expect([table, await count(table)]).toEqual([table, 0]);
  expect(await count("users")).toBe(1);
  expect((await bob.call("list_no_dup")).json()).toEqual({ secrets: [] });
  // PostgreSQL overwrites removed rows later.
  expect(data.overwrites && (await data.written()).includes("canary-31f0")).toBe(false);
});

vi.setConfig({ testTimeout: 60_000 });
const directory = new TestDirectory();

test("reads and other accounts are served while a request deletes thousands of secrets", async () => {
  const COUNT = 5_000;
  const data = directory.join("long.db");
  await using vault = await TestVault.start({ data });
  const [ann, bob] = [await vault.client("ann@example.com"), await vault.client("bob@example.com")];
  await bob.call("protect", { key_name: "short", key_value: "v" });
  insertSecrets(data, ann.email, COUNT, Date.now());
  const names = Array.from(
    { length: COUNT },
    (_, index) => `listed-${String(index).padStart(6, "0")}`,
  );
  const state = { deleted: false };
  const deletion = ann.call("delete", { key_name: names }).finally(() => (state.deleted = true));
  let served = 0;
  while (!state.deleted) {
    const { status } = await bob.call("expose", { key_name: "short" });
    if (status === 200 && !state.deleted) served += 1;
  }
  expect((await deletion).status).toBe(200);
  // The transaction takes most of the time of the request: without turns, no read is served before
  // its end.
  expect(served).toBeGreaterThan(5);
});

test("long work is notified of the start and end of each request, and of each chunk of an upload", async () => {
  await using vault = await TestVault.start({});
  const ann = await vault.client("ann@example.com");
  await ann.call("list_file");
  const noteUse = vi.spyOn(longWork, "noteUse");
  try {
    await ann.call("list_file");
    await vi.waitFor(() => expect(noteUse).toHaveBeenCalledTimes(2));
    noteUse.mockClear();
    await ann.upload([{ filename: "a", bytes: Buffer.alloc(600 * 1024) }]);
    await vi.waitFor(() => expect(noteUse).toHaveBeenCalledTimes(2 + 3));
  } finally {
    noteUse.mockRestore();
  }
});

const FILE_VERSIONS = 5_000;
/** Rows of one statement, whatever the number of versions. */
const MOST_ROWS = 1_001;

/** Adds versions without bytes to all files: requests would take minutes for them. */
function addVersions(data: string): void {
  using database = new DatabaseSync(data, { timeout: 30_000 });
  database.exec(`BEGIN;
    INSERT INTO file_versions (file_id, version, size, created_at, blob_id, key_id, wrapped_key, sealed)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${FILE_VERSIONS - 1})
      SELECT file_id, i + 1, size, created_at, blob_id || i, key_id, wrapped_key, sealed FROM n, file_versions;
    UPDATE files SET next_version = ${FILE_VERSIONS + 1};
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
  expect((await remove({ filename: "a", version: FILE_VERSIONS + 1 })).outcome()).toBe(
    "404 version_not_found",
  );
  expect((await remove({ filename: "a", version: 7 })).json()).toEqual({
    deleted: { filename: "a", versions: [7] },
  });

  const trashed = (await remove({ filename: "a" })).json();
  expect(trashed.deleted.versions).toHaveLength(FILE_VERSIONS - 1);
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

const email = "ann@example.com";
/** Logins with scopes of 8 KiB: a list of 800 KB. */
const LOGINS = 100;

test("a long list of tokens is read in parts, newest first, and counts by its length", async () => {
  const clock = new VirtualClock();
  const limits = { requestsPerSecond: 1, requestBurst: 40 };
  await using vault = await TestVault.start({ clock, limits });
  const scope = scopeString({ secret_name: Array<string>(180).fill("x".repeat(30)) });
  const ann = await vault.client(email, undefined, 1_000);
  for (let login = 0; login < LOGINS; login += 1) {
    await clock.advance(1);
    expect((await vault.logIn(email, { scope, hours: 100 + login })).outcome()).toBe("200");
  }
  const list = async () => (await ann.call("token_list")).json().tokens;
  const listed = await list();
  expect(listed).toHaveLength(LOGINS + 1);
  expect(listed.at(-1)).toMatchObject({ current: true });
  const ended = listed.map(({ expires_at }: { expires_at: string }) => expires_at).slice(0, LOGINS);
  expect(ended).toEqual(ended.toSorted().toReversed());
  expect(listed[0].scope).toBe(scope);

  const ids = listed.map(({ id }: { id: string }) => id);
  const unknown = "0".repeat(24);
  expect((await ann.call("token_revoke", { id: [ids[0], unknown] })).outcome()).toBe(
    "404 token_not_found",
  );
  expect((await ann.call("token_revoke", { id: [ids[0], ids[70], ids[0]] })).json()).toEqual({
    revoked: [ids[0], ids[70]],
  });
  const left = (await list()).map(({ id }: { id: string }) => id);
  expect(left).toEqual(ids.filter((id: string) => id !== ids[0] && id !== ids[70]));

  await clock.advance(100_000);
  // Each list counts as four requests.
  for (let lists = 10; lists > 0; lists -= 1)
    expect((await ann.call("token_list")).outcome()).toBe("200");
  expect((await ann.call("token_list")).outcome()).toBe("429 rate_limited");
});
