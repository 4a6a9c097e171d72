import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { onDatabase } from "../lab/postgres/postgres-database.ts";
import { onPostgres } from "../lab/vault/vault-data.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import {
  closing,
  CLOSING_BYTES,
  opening,
  OPENING_BYTES,
} from "../../src/vault/server/backup/format.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { BackupData, dump, fillForBackup } from "../lab/vault/backup-data.ts";

let fixture: BackupData;
beforeEach(async () => {
  fixture = await BackupData.create();
});
afterEach(() => fixture[Symbol.asyncDispose]());

/** Writes a backup with this content and a correct checksum. */
async function forge(name: string, content: string): Promise<void> {
  const bytes = Buffer.concat([opening(), zstdCompressSync(content)]);
  await writeFile(
    fixture.path(name),
    Buffer.concat([bytes, closing(createHash("sha256").update(bytes).digest())]),
  );
}

test("restore rejects flipped bits, truncated and extended files before it writes", async () => {
  await using vault = await TestVault.start({
    data: fixture.data.location,
    masterKey: fixture.ring(),
  });
  await fillForBackup(vault);
  await fixture.backUp("good");
  const good = await readFile(fixture.path("good"));
  const opened = async (bytes: Uint8Array): Promise<boolean> => {
    await writeFile(fixture.path("bad"), bytes);
    return fixture.open("bad").then(
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
    OPENING_BYTES.plain,
    OPENING_BYTES.authenticated - 1,
    OPENING_BYTES.authenticated,
    last - CLOSING_BYTES.authenticated,
    last - CLOSING_BYTES.authenticated + 1,
    last,
    last >> 1,
    last >> 2,
  ];
  for (const position of positions) {
    const bad = Buffer.from(good);
    bad[position] = bad[position]! ^ 0x10;
    expect(await opened(bad), `byte ${position}`).toBe(false);
    expect(await opened(good.subarray(0, position)), `byte ${position}`).toBe(false);
  }
  expect(await opened(Buffer.concat([good, Buffer.from([0])]))).toBe(false);
  await writeFile(fixture.path("bad"), good.subarray(0, -1));
  const location = fixture.path("never.db");
  const refused = await fixture.run("restore", ["--from", fixture.path("bad")], location);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("corrupted or truncated"),
  });
  await expect(stat(location)).rejects.toThrow("ENOENT");
}, 30_000);

test("restore rejects backups of other releases and inconsistent content", async () => {
  const head = { vaultsync_backup: 1, schema: 1, made_at: "2026-11-21T00:00:00.000Z", key: "k" };
  const settings = { table: "settings", columns: ["name", "value"] };
  const end = { rows: { settings: 1 }, keys: [] };
  const row = ["master_key", "k"];
  const outcome = async (...lines: unknown[]): Promise<string> => {
    await forge("forged", lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await using backup = await fixture.open("forged", true);
    return await backup
      .read(() => undefined)
      .then(
        () => "read",
        (error: Error) => error.message,
      );
  };
  expect(await outcome(head, settings, row, end)).toBe("read");
  expect(await outcome({ ...head, vaultsync_backup: 2 }, settings, row, end)).toContain(
    "newer release",
  );
  expect(await outcome({ ...head, schema: 999 }, settings, row, end)).toContain("newer release");
  expect(await outcome(head, { ...settings, columns: ["name"] }, ["x"], end)).toContain(
    "another release",
  );
  expect(await outcome(head, { ...settings, table: "sqlite_schema" }, row, end)).toContain(
    "another release",
  );
  expect(await outcome(head, settings, row)).toContain("no end record");
  expect(await outcome(head, settings, end)).toContain("rows of settings are missing");
  expect(await outcome(head, settings, row, end, row)).toContain("data after the end record");
  expect(await outcome(head, settings, ["one cell"], end)).toContain(
    "does not match the columns of its table",
  );
  await writeFile(fixture.path("forged"), "something else");
  expect(await fixture.verify("forged")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("not a vaultsync backup"),
  });
});

test("backup and restore reject a wrong key, an existing file and a non-empty store", async () => {
  const vault = await TestVault.start({ data: fixture.data.location, masterKey: fixture.ring() });
  await fillForBackup(vault);
  await vault[Symbol.asyncDispose]();
  await writeFile(
    fixture.path("wrong"),
    Buffer.from(generateMasterKey().reveal()).toString("base64"),
  );
  const wrong = {
    code: 1,
    stderr: expect.stringContaining(`under another master key, ${fixture.ring().ids[0]}`),
  };
  expect(await fixture.backUp("backup", "--master-key-file", fixture.path("wrong"))).toMatchObject(
    wrong,
  );
  expect((await fixture.backUp("backup")).code).toBe(0);
  expect(await fixture.verify("backup", "--master-key-file", fixture.path("wrong"))).toMatchObject(
    wrong,
  );
  expect((await fixture.verify("backup", "--master-key-file", fixture.path("key"))).code).toBe(0);
  const before = await dump(fixture.data.location);
  const refused = await fixture.run(
    "restore",
    ["--from", fixture.path("backup")],
    fixture.data.location,
  );
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the data is not empty"),
  });
  expect(await dump(fixture.data.location)).toEqual(before);

  const first = await readFile(fixture.path("backup"));
  expect(await fixture.backUp("backup")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("already exists"),
  });
  expect(
    (await fixture.backUp("backup", "--force", "--master-key-file", fixture.path("wrong"))).code,
  ).toBe(1);
  expect((await readFile(fixture.path("backup"))).equals(first)).toBe(true);
  expect((await fixture.backUp("backup", "--force")).code).toBe(0);
  expect((await readFile(fixture.path("backup"))).equals(first)).toBe(false);
  expect(await readdir(fixture.directory)).not.toContainEqual(expect.stringContaining(".tmp"));
  expect((await fixture.run("restore", ["--from", fixture.path("backup")])).code).toBe(2);
}, 30_000);

test("backup leaves no file behind when the disk is full", async () => {
  await using vault = await TestVault.start({
    data: fixture.data.location,
    masterKey: fixture.ring(),
  });
  const ann = await vault.client("ann@example.com");
  await ann.upload([{ filename: "big", bytes: randomBytes(3_000_000) }]);
  const main = join(import.meta.dirname, "../../src/main.ts");
  const env = {
    PATH: process.env["PATH"],
    VAULTSYNC_VAULT_DATA: fixture.data.location,
    ...fixture.keyEnvironment,
  };
  const stderr = await new Promise<string>((resolve) => {
    // A file size limit in KiB: writing more fails, as on a full disk.
    const script = `trap '' XFSZ; ulimit -f 1000; exec "$0" "$@"`;
    const args = [
      "--norc",
      "-c",
      script,
      process.execPath,
      main,
      "vault",
      "backup",
      "--to",
      fixture.path("backup"),
    ];
    execFile("bash", args, { env }, (_error, _stdout, text) => resolve(text));
  });
  expect(stderr).toContain("EFBIG");
  expect((await readdir(fixture.directory)).filter((name) => name.startsWith("backup"))).toEqual(
    [],
  );
});

/** Resolves while a restore is in progress: when SQLite's log or PostgreSQL's tables grow. */
async function restoreStarted(location: string, restoring: VaultsyncProcess): Promise<void> {
  const bytes = async (): Promise<number> => {
    if (!onPostgres()) return (await stat(`${location}-wal`).catch(() => ({ size: 0 }))).size;
    const sql =
      "SELECT coalesce(pg_total_relation_size(to_regclass('file_chunks')), 0)::float8 AS size";
    return Number((await onDatabase(location, sql)).rows[0]?.size);
  };
  while ((await bytes()) < 3_000_000 && !restoring.exited) await delay(5);
}

test("a killed restore leaves the store empty, and the next restore completes", async () => {
  {
    // Stopped before the backup: it stores the time of the last use of a token some time after
    // that.
    await using vault = await TestVault.start({
      data: fixture.data.location,
      masterKey: fixture.ring(),
    });
    const ann = await vault.client("ann@example.com");
    await ann.upload([{ filename: "big", bytes: randomBytes(30_000_000) }]);
  }
  await fixture.backUp("backup");
  await using to = await fixture.target("same");
  const all = JSON.stringify(await dump(fixture.data.location));
  const outcomes: string[] = [];
  for (const wait of [0, 20, 60]) {
    const restoring = new VaultsyncProcess(
      ["vault", "restore", "--keep-tokens", "--from", fixture.path("backup")],
      {
        env: { VAULTSYNC_VAULT_DATA: to.location, ...fixture.keyEnvironment },
      },
    );
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
  await using whole = await fixture.target("same");
  expect(
    (
      await fixture.run(
        "restore",
        ["--from", fixture.path("backup"), "--keep-tokens"],
        whole.location,
      )
    ).code,
  ).toBe(0);
  expect(await dump(whole.location)).toEqual(await dump(fixture.data.location));
}, 60_000);
