import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { onDatabase, PostgresDatabase } from "../support/postgres/postgres-database.ts";
import { onPostgres, vaultData, type VaultData } from "../support/vault/vault-data.ts";
import { TestVault } from "../support/vault/test-vault.ts";
import { VaultClient } from "../support/vault/vault-client.ts";
import { runInProcess } from "../support/processes/run-in-process.ts";
import { VaultsyncProcess, type ProcessResult } from "../support/processes/vaultsync-process.ts";
import { BackupFile } from "../../src/vault-server/backup/backup-file.ts";
import { closing, CLOSING_BYTES, opening } from "../../src/vault-server/backup/format.ts";
import { KeyFile } from "../../src/vault-server/crypto/key-file.ts";
import { KeyRing } from "../../src/vault-server/crypto/key-ring.ts";
import { generateMasterKey } from "../../src/vault-server/crypto/master-key.ts";
import { openStore } from "../../src/vault-server/store/open-store.ts";
import { backedUpTables, omittedTables } from "../../src/vault-server/store/tables/raw-tables.ts";

const canary = "canary-backup-5d07e1";
let directory: string;
let data: VaultData;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
  data = await vaultData();
  await writeFile(path("key"), Buffer.from(generateMasterKey().reveal()).toString("base64"));
});
afterEach(async () => {
  await data[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});
const path = (name: string): string => join(directory, name);
const ring = (): KeyRing => new KeyRing(new KeyFile(path("key")));

type Command = "backup" | "restore";

/** Runs a command in a child process, while other processes write to the data. */
function runInChildProcess(command: Command, args: readonly string[], location: string): Promise<ProcessResult> {
  return VaultsyncProcess.run(["vault", command, ...args], { env: { VAULTSYNC_VAULT_DATA: location } });
}

function run(command: Command, args: readonly string[], location?: string): Promise<ProcessResult> {
  return runInProcess(["vault", command, ...args], location === undefined ? {} : { VAULTSYNC_VAULT_DATA: location });
}
const backUp = (to: string, ...more: string[]): Promise<ProcessResult> =>
  run("backup", ["--to", path(to), ...more], data.location);
const verify = (from: string, ...more: string[]): Promise<ProcessResult> =>
  run("restore", ["--from", path(from), "--verify", ...more]);

/** Fills a vault with versions, a gap, deadlines, grants, a team, dismissed grants and files of several chunks. */
async function fill(vault: TestVault): Promise<{ ann: VaultClient; bob: VaultClient; file: Buffer }> {
  const ann = await vault.client("ann@example.com");
  const bob = await vault.client("bob@example.com");
  for (let n = 1; n <= 3; n += 1) await ann.call("protect", { key_name: "many", key_value: `${canary}-${n}`, delete_time: 1000 });
  await ann.call("version_delete", { key_name: "many", key_version: 3 });
  await ann.call("protect", { key_name: "odd \u2028 ü 🔑", key_value: canary, metadata: { own: { deep: [1, null, "\u0000"] } } });
  await ann.call("team_create", { group_id: "crew", members: [bob.email, "later@example.com"] });
  await ann.call("protect", { key_name: "shared", key_value: `${canary}-shared` });
  await ann.call("share", { key_name: "shared", permission: "RW", usr_id_from: ann.email, usr_id_to: "later@example.com" });
  await ann.call("share", { key_name: "shared", permission: "R", usr_id_from: ann.email, group_id_to: "crew" });
  await bob.call("protect", { key_name: "bobs", key_value: `${canary}-bobs` });
  await bob.call("share", { key_name: "bobs", permission: "W", usr_id_from: bob.email, group_id_to: "crew" });
  await ann.call("delete_shared_key_link", { key_name: "bobs" });
  const file = randomBytes(700_000);
  await bob.upload([{ filename: "big", bytes: Buffer.from("first") }]);
  await bob.upload([{ filename: "big", bytes: file }]);
  return { ann, bob, file };
}

async function dump(location: string): Promise<Record<string, string[]>> {
  await using store = await openStore(location);
  return store.read(async ({ tables }) => {
    const all: Record<string, string[]> = {};
    for (const table of backedUpTables)
      all[table.name] = (await tables.page(table, undefined, 1000)).map((row) => JSON.stringify(row.map(plain)));
    return all;
  });
}
const plain = (cell: unknown): unknown => (cell instanceof Uint8Array ? Buffer.from(cell).toString("hex") : cell);

/** Returns an empty location in the store under test or in the other one. */
async function target(kind: "same" | "other"): Promise<{ location: string } & AsyncDisposable> {
  if (onPostgres() && kind === "same") {
    const database = await PostgresDatabase.create({ empty: true });
    return { location: database.url, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
  }
  return { location: path(`restored-${randomBytes(4).toString("hex")}.db`), [Symbol.asyncDispose]: async () => undefined };
}

test("every table and column of the schema is in backups or explicitly omitted", async () => {
  await (await openStore(data.location))[Symbol.asyncDispose]();
  const sql = onPostgres()
    ? "SELECT table_name AS name, column_name AS column FROM information_schema.columns WHERE table_schema = 'public'"
    : "SELECT t.name AS name, c.name AS column FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'";
  const rows = (await data.select(sql)).filter(({ name }) => name !== "schema_version");
  const inSchema = Map.groupBy(rows, ({ name }) => String(name));
  for (const { name, columns } of backedUpTables) {
    expect([
      name,
      inSchema
        .get(name)
        ?.map(({ column }) => column)
        .toSorted(),
    ]).toEqual([name, columns.toSorted()]);
  }
  expect([...inSchema.keys()].toSorted()).toEqual([...backedUpTables.map(({ name }) => name), ...omittedTables].toSorted());
});

async function lists(callers: readonly VaultClient[]): Promise<string[]> {
  const responses: string[] = [];
  for (const caller of callers) {
    for (const list of ["list_no_dup", "list_file", "team_list"] as const)
      responses.push((await caller.call(list)).bytes.toString());
  }
  return responses;
}

test.each(["same", "other"] as const)(
  "a backup restores all data in the %s store, and values stay sealed",
  async (kind) => {
    if (kind === "other" && !onPostgres()) return;
    const vault = await TestVault.start({ data: data.location, masterKey: ring() });
    const { ann, bob, file } = await fill(vault);
    const before = await lists([ann, bob]);
    // Stops the server, so that it does not send the outbox meanwhile.
    await vault[Symbol.asyncDispose]();
    expect(await backUp("backup", "--master-key-file", path("key"))).toMatchObject({ code: 0, stdout: "" });
    expect((await stat(path("backup"))).mode & 0o777).toBe(0o600);
    const content = zstdDecompressSync((await readFile(path("backup"))).subarray(opening.length, -CLOSING_BYTES));
    for (const secret of [
      canary,
      Buffer.from(canary).toString("base64").slice(0, -4),
      ann.token,
      await readFile(path("key"), "utf8"),
    ]) {
      expect(content.includes(secret)).toBe(false);
    }
    await using to = await target(kind);
    const restored = await run("restore", ["--from", path("backup"), "--master-key-file", path("key")], to.location);
    expect(restored).toMatchObject({ code: 0, stdout: "" });
    const [there, here] = [await dump(to.location), await dump(data.location)];
    for (const { name } of backedUpTables) expect([name, there[name]]).toEqual([name, here[name]]);
    // Restores a backup of the restored data.
    expect((await run("backup", ["--to", path("back")], to.location)).code).toBe(0);
    await using home = await target("same");
    expect((await run("restore", ["--from", path("back")], home.location)).code).toBe(0);
    expect(await dump(home.location)).toEqual(here);

    await using again = await TestVault.start({ data: to.location, masterKey: ring(), emails: [] });
    const [ann2, bob2] = [ann, bob].map(({ email, token }) => new VaultClient(again.url, email, { token })) as [
      VaultClient,
      VaultClient,
    ];
    expect(await lists([ann2, bob2])).toEqual(before);
    expect((await ann2.call("expose", { key_name: "many" })).json()).toMatchObject({ key_value: `${canary}-2`, key_version: 2 });
    expect((await ann2.call("protect", { key_name: "many", key_value: "x" })).json().secret.key_version).toBe(4);
    expect((await bob2.call("expose_link", { key_name: "shared" })).json().key_value).toBe(`${canary}-shared`);
    expect((await bob2.call("download_file", { filename: "big" })).bytes.equals(file)).toBe(true);
    expect((await bob2.call("download_file", { filename: "big", version: 1 })).bytes.toString()).toBe("first");
  },
  60_000,
);

/** Returns the rows of a backup as objects, by table. */
async function rowsIn(name: string): Promise<Map<string, Record<string, unknown>[]>> {
  const tables = new Map<string, Record<string, unknown>[]>();
  await using backup = await BackupFile.open(path(name));
  await backup.read(({ table, cells }) => {
    const row = Object.fromEntries(table.columns.map((column, n) => [column, cells[n]]));
    tables.set(table.name, [...(tables.get(table.name) ?? []), row]);
  });
  return tables;
}

test("a backup during writes is a consistent snapshot", async () => {
  const limits = { requestsPerSecond: 100_000, requestBurst: 100_000 };
  await using vault = await TestVault.start({ data: data.location, masterKey: ring(), limits });
  const ann = await vault.client("ann@example.com");
  // Takes a while to read.
  await ann.upload([{ filename: "ballast", bytes: randomBytes(20_000_000) }]);
  const stop = new AbortController();
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let round = 0; !stop.signal.aborted; round += 1) {
      const bytes = randomBytes(300_000);
      const names = ["left", "right"].map((side) => `${side}-${writer}`);
      expect((await ann.upload(names.map((filename) => ({ filename, bytes })))).status).toBe(200);
      for (const key_name of [`kept-${writer}`, `brief-${writer}-${round}`])
        await ann.call("protect", { key_name, key_value: "x" });
      if (round > 0) await ann.call("delete_file", { filename: `left-${writer}`, version: round });
      await ann.call("delete", { key_name: `brief-${writer}-${round}` });
    }
  });
  await delay(200);
  for (const name of ["one", "two", "three"]) {
    expect(await runInChildProcess("backup", ["--to", path(name)], data.location)).toMatchObject({ code: 0 });
  }
  stop.abort();
  await Promise.all(writers);
  for (const name of ["one", "two", "three"]) {
    const tables = await rowsIn(name);
    const rows = (table: string) => tables.get(table) ?? [];
    const nextVersion = (file: string) => rows("files").find((row) => row["name"] === file)?.["next_version"];
    expect(nextVersion("left-0")).toBeGreaterThan(1);
    for (let writer = 0; writer < 4; writer += 1) expect(nextVersion(`left-${writer}`)).toBe(nextVersion(`right-${writer}`));
    const versions = Map.groupBy(rows("secret_versions"), (row) => row["secret_id"]);
    for (const secret of rows("secrets")) expect(versions.get(secret["id"])?.length).toBe(Number(secret["next_version"]) - 1);
    expect(versions.size).toBe(rows("secrets").length);
    const chunks = Map.groupBy(rows("file_chunks"), (row) => row["blob_id"]);
    for (const version of rows("file_versions")) {
      expect(chunks.get(version["blob_id"])).toHaveLength(Math.ceil(Number(version["size"]) / (256 * 1024)));
    }
  }
}, 60_000);

/** Writes a backup with this content and a correct checksum. */
async function forge(name: string, content: string): Promise<void> {
  const bytes = Buffer.concat([opening, zstdCompressSync(content)]);
  await writeFile(path(name), Buffer.concat([bytes, closing(createHash("sha256").update(bytes).digest())]));
}

test("restore rejects flipped bits, truncated and extended files before it writes", async () => {
  await using vault = await TestVault.start({ data: data.location, masterKey: ring() });
  await fill(vault);
  await backUp("good");
  const good = await readFile(path("good"));
  const opened = async (bytes: Uint8Array): Promise<boolean> => {
    await writeFile(path("bad"), bytes);
    return BackupFile.open(path("bad")).then(
      async (backup) => {
        await backup[Symbol.asyncDispose]();
        return true;
      },
      () => false,
    );
  };
  expect(await opened(good)).toBe(true);
  const last = good.length - 1;
  const positions = [
    0,
    opening.length - 1,
    opening.length,
    last - CLOSING_BYTES,
    last - CLOSING_BYTES + 1,
    last,
    last >> 1,
    last >> 2,
  ];
  for (const position of positions) {
    const bad = Buffer.from(good);
    bad[position] = bad[position]! ^ 0x10;
    expect([position, await opened(bad)]).toEqual([position, false]);
    expect([position, await opened(good.subarray(0, position))]).toEqual([position, false]);
  }
  expect(await opened(Buffer.concat([good, Buffer.from([0])]))).toBe(false);
  await writeFile(path("bad"), good.subarray(0, -1));
  const location = path("never.db");
  const refused = await run("restore", ["--from", path("bad")], location);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("corrupted or truncated") });
  await expect(stat(location)).rejects.toThrow("ENOENT");
}, 30_000);

test("restore rejects backups of other releases and inconsistent content", async () => {
  const head = { vaultsync_backup: 1, schema: 1, made_at: "2026-11-21T00:00:00.000Z", key: "k" };
  const settings = { table: "settings", columns: ["name", "value"] };
  const end = { rows: { settings: 1 }, keys: [] };
  const row = ["master_key", "k"];
  const outcome = async (...lines: unknown[]): Promise<string> => {
    await forge("forged", lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await using backup = await BackupFile.open(path("forged"));
    return await backup
      .read(() => undefined)
      .then(
        () => "read",
        (error: Error) => error.message,
      );
  };
  expect(await outcome(head, settings, row, end)).toBe("read");
  expect(await outcome({ ...head, vaultsync_backup: 2 }, settings, row, end)).toContain("newer release");
  expect(await outcome({ ...head, schema: 999 }, settings, row, end)).toContain("newer release");
  expect(await outcome(head, { ...settings, columns: ["name"] }, ["x"], end)).toContain("another release");
  expect(await outcome(head, { ...settings, table: "sqlite_schema" }, row, end)).toContain("another release");
  expect(await outcome(head, settings, row)).toContain("no end record");
  expect(await outcome(head, settings, end)).toContain("rows of settings are missing");
  expect(await outcome(head, settings, row, end, row)).toContain("data after the end record");
  expect(await outcome(head, settings, ["one cell"], end)).toContain("does not match the columns of its table");
  await writeFile(path("forged"), "something else");
  expect(await verify("forged")).toMatchObject({ code: 1, stderr: expect.stringContaining("not a vaultsync backup") });
});

test("backup and restore reject a wrong key, an existing file and a non-empty store", async () => {
  const vault = await TestVault.start({ data: data.location, masterKey: ring() });
  await fill(vault);
  await vault[Symbol.asyncDispose]();
  await writeFile(path("wrong"), Buffer.from(generateMasterKey().reveal()).toString("base64"));
  const wrong = { code: 1, stderr: expect.stringContaining(`under another master key, ${ring().ids[0]}`) };
  expect(await backUp("backup", "--master-key-file", path("wrong"))).toMatchObject(wrong);
  expect((await backUp("backup")).code).toBe(0);
  expect(await verify("backup", "--master-key-file", path("wrong"))).toMatchObject(wrong);
  expect((await verify("backup", "--master-key-file", path("key"))).code).toBe(0);
  const before = await dump(data.location);
  const refused = await run("restore", ["--from", path("backup")], data.location);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("the data is not empty") });
  expect(await dump(data.location)).toEqual(before);

  const first = await readFile(path("backup"));
  expect(await backUp("backup")).toMatchObject({ code: 1, stderr: expect.stringContaining("already exists") });
  expect((await backUp("backup", "--force", "--master-key-file", path("wrong"))).code).toBe(1);
  expect((await readFile(path("backup"))).equals(first)).toBe(true);
  expect((await backUp("backup", "--force")).code).toBe(0);
  expect((await readFile(path("backup"))).equals(first)).toBe(false);
  expect(await readdir(directory)).not.toContainEqual(expect.stringContaining(".tmp"));
  expect((await run("restore", ["--from", path("backup")])).code).toBe(2);
}, 30_000);

test("when the disk is full half-way, there is no backup and nothing left of it", async () => {
  await using vault = await TestVault.start({ data: data.location, masterKey: ring() });
  const ann = await vault.client("ann@example.com");
  await ann.upload([{ filename: "big", bytes: randomBytes(3_000_000) }]);
  const main = join(import.meta.dirname, "../../src/main.ts");
  const env = { PATH: process.env["PATH"], VAULTSYNC_VAULT_DATA: data.location };
  const stderr = await new Promise<string>((resolve) => {
    // A limit of the size of files, in KiB: writing beyond fails half-way, as on a full disk.
    const script = `trap '' XFSZ; ulimit -f 1000; exec "$0" "$@"`;
    const args = ["--norc", "-c", script, process.execPath, main, "vault", "backup", "--to", path("backup")];
    execFile("bash", args, { env }, (_error, _stdout, text) => resolve(text));
  });
  expect(stderr).toContain("EFBIG");
  expect((await readdir(directory)).filter((name) => name.startsWith("backup"))).toEqual([]);
});

/** Resolves while a restore is in progress: when SQLite's log or PostgreSQL's tables grow. */
async function restoreStarted(location: string, restoring: VaultsyncProcess): Promise<void> {
  const bytes = async (): Promise<number> => {
    if (!onPostgres()) return (await stat(`${location}-wal`).catch(() => ({ size: 0 }))).size;
    const sql = "SELECT coalesce(pg_total_relation_size(to_regclass('file_chunks')), 0)::float8 AS size";
    return Number((await onDatabase(location, sql)).rows[0]?.size);
  };
  while ((await bytes()) < 3_000_000 && !restoring.exited) await delay(5);
}

test("a killed restore leaves the store empty, and the next restore completes", async () => {
  await using vault = await TestVault.start({ data: data.location, masterKey: ring() });
  const ann = await vault.client("ann@example.com");
  await ann.upload([{ filename: "big", bytes: randomBytes(30_000_000) }]);
  await backUp("backup");
  await using to = await target("same");
  const all = JSON.stringify(await dump(data.location));
  const outcomes: string[] = [];
  for (const wait of [0, 20, 60]) {
    const restoring = new VaultsyncProcess(["vault", "restore", "--from", path("backup")], {
      env: { VAULTSYNC_VAULT_DATA: to.location },
    });
    await restoreStarted(to.location, restoring);
    await delay(wait);
    await restoring.stop("SIGKILL");
    const found = await dump(to.location);
    const empty = Object.values(found).every((rows) => rows.length === 0);
    outcomes.push(empty ? "nothing" : JSON.stringify(found) === all ? "all" : "a part");
    if (!empty) break;
  }
  expect(outcomes[0]).toBe("nothing");
  expect(outcomes).not.toContain("a part");
  await using whole = await target("same");
  expect((await run("restore", ["--from", path("backup")], whole.location)).code).toBe(0);
  expect(await dump(whole.location)).toEqual(await dump(data.location));
}, 60_000);
