import { randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { zstdDecompressSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { onPostgres } from "../lab/vault/vault-data.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VaultClient } from "../lab/vault/vault-client.ts";
import { CLOSING_BYTES, OPENING_BYTES } from "../../src/vault/server/backup/format.ts";
import { openStore } from "../../src/vault/server/store/open-store.ts";
import { backedUpTables, omittedTables } from "../../src/vault/server/store/tables/raw-tables.ts";
import { BackupData, canary, dump, fillForBackup } from "../lab/vault/backup-data.ts";

let fixture: BackupData;
beforeEach(async () => {
  fixture = await BackupData.create();
});
afterEach(() => fixture[Symbol.asyncDispose]());

test("every table and column of the schema is in backups or explicitly omitted", async () => {
  await (await openStore(fixture.data.location))[Symbol.asyncDispose]();
  const sql = onPostgres()
    ? "SELECT table_name AS name, column_name AS column FROM information_schema.columns WHERE table_schema = 'public'"
    : "SELECT t.name AS name, c.name AS column FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'";
  const rows = (await fixture.data.select(sql)).filter(({ name }) => name !== "schema_version");
  const inSchema = Map.groupBy(rows, ({ name }) => String(name));
  for (const { name, columns } of backedUpTables) {
    expect(
      inSchema
        .get(name)
        ?.map(({ column }) => column)
        .toSorted(),
      name,
    ).toEqual(columns.toSorted());
  }
  expect([...inSchema.keys()].toSorted()).toEqual(
    [...backedUpTables.map(({ name }) => name), ...omittedTables].toSorted(),
  );
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
    const vault = await TestVault.start({ data: fixture.data.location, masterKey: fixture.ring() });
    const { ann, bob, file } = await fillForBackup(vault);
    const before = await lists([ann, bob]);
    // Stops the server: it must not send the outbox before the backup.
    await vault[Symbol.asyncDispose]();
    expect(await fixture.backUp("backup", "--master-key-file", fixture.path("key"))).toMatchObject({
      code: 0,
      stdout: "",
    });
    expect((await stat(fixture.path("backup"))).mode & 0o777).toBe(0o600);
    const content = zstdDecompressSync(
      (await readFile(fixture.path("backup"))).subarray(
        OPENING_BYTES.authenticated,
        -CLOSING_BYTES.authenticated,
      ),
    );
    for (const secret of [
      canary,
      Buffer.from(canary).toString("base64").slice(0, -4),
      ann.token,
      await readFile(fixture.path("key"), "utf8"),
    ]) {
      expect(content.includes(secret)).toBe(false);
    }
    await using to = await fixture.target(kind);
    const restored = await fixture.run(
      "restore",
      ["--from", fixture.path("backup"), "--master-key-file", fixture.path("key"), "--keep-tokens"],
      to.location,
    );
    expect(restored).toMatchObject({ code: 0, stdout: "" });
    const [there, here] = [await dump(to.location), await dump(fixture.data.location)];
    for (const { name } of backedUpTables) expect([name, there[name]]).toEqual([name, here[name]]);
    // Restores a backup of the restored fixture.data.
    expect((await fixture.run("backup", ["--to", fixture.path("back")], to.location)).code).toBe(0);
    await using home = await fixture.target("same");
    expect(
      (
        await fixture.run(
          "restore",
          ["--from", fixture.path("back"), "--keep-tokens"],
          home.location,
        )
      ).code,
    ).toBe(0);
    expect(await dump(home.location)).toEqual(here);

    await using again = await TestVault.start({
      data: to.location,
      masterKey: fixture.ring(),
      emails: [],
    });
    const [ann2, bob2] = [ann, bob].map(
      ({ email, token }) => new VaultClient(again.url, email, { token }),
    ) as [VaultClient, VaultClient];
    expect(await lists([ann2, bob2])).toEqual(before);
    expect((await ann2.call("expose", { key_name: "many" })).json()).toMatchObject({
      key_value: `${canary}-2`,
      key_version: 2,
    });
    expect(
      (await ann2.call("protect", { key_name: "many", key_value: "x" })).json().secret.key_version,
    ).toBe(4);
    expect((await bob2.call("expose_link", { key_name: "shared" })).json().key_value).toBe(
      `${canary}-shared`,
    );
    expect((await bob2.call("download_file", { filename: "big" })).bytes.equals(file)).toBe(true);
    expect(
      (await bob2.call("download_file", { filename: "big", version: 1 })).bytes.toString(),
    ).toBe("first");
  },
  60_000,
);

test("restore ends the tokens of the backup", async () => {
  const vault = await TestVault.start({ data: fixture.data.location, masterKey: fixture.ring() });
  const { ann } = await fillForBackup(vault);
  const before = await lists([ann]);
  const password = vault.passwords.get(ann.email) ?? "";
  await vault[Symbol.asyncDispose]();
  await fixture.backUp("backup");
  await using to = await fixture.target("same");
  const restored = await fixture.run("restore", ["--from", fixture.path("backup")], to.location);
  expect(restored.stderr).toContain("except tokens");
  await using again = await TestVault.start({
    data: to.location,
    masterKey: fixture.ring(),
    emails: [],
  });
  const old = new VaultClient(again.url, ann.email, { token: ann.token });
  expect((await old.call("list_no_dup")).outcome()).toBe("401 invalid_token");
  const next = await VaultClient.connect(again.url, ann.email, password);
  expect(await lists([next])).toEqual(before);
});

/** Returns the rows of a backup as objects, by table. */
async function rowsIn(name: string): Promise<Map<string, Record<string, unknown>[]>> {
  const tables = new Map<string, Record<string, unknown>[]>();
  await using backup = await fixture.open(name);
  await backup.read(({ table, cells }) => {
    const row = Object.fromEntries(table.columns.map((column, n) => [column, cells[n]]));
    tables.set(table.name, [...(tables.get(table.name) ?? []), row]);
  });
  return tables;
}

test("a backup during writes is a consistent snapshot", async () => {
  const limits = { requestsPerSecond: 100_000, requestBurst: 100_000 };
  await using vault = await TestVault.start({
    data: fixture.data.location,
    masterKey: fixture.ring(),
    limits,
  });
  const ann = await vault.client("ann@example.com");
  // Takes a while to read.
  await ann.upload([{ filename: "ballast", bytes: randomBytes(20_000_000) }]);
  const stop = new AbortController();
  const firstRounds = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const writers = firstRounds.map(async ({ resolve }, writer) => {
    for (let round = 0; !stop.signal.aborted; round += 1) {
      const bytes = randomBytes(300_000);
      const names = ["left", "right"].map((side) => `${side}-${writer}`);
      expect((await ann.upload(names.map((filename) => ({ filename, bytes })))).status).toBe(200);
      for (const key_name of [`kept-${writer}`, `brief-${writer}-${round}`])
        await ann.call("protect", { key_name, key_value: "x" });
      if (round > 0) await ann.call("delete_file", { filename: `left-${writer}`, version: round });
      await ann.call("delete", { key_name: `brief-${writer}-${round}` });
      resolve();
    }
  });
  await Promise.all(firstRounds.map(({ promise }) => promise));
  for (const name of ["one", "two", "three"]) {
    expect(
      await fixture.runInChildProcess(
        "backup",
        ["--to", fixture.path(name)],
        fixture.data.location,
      ),
    ).toMatchObject({
      code: 0,
    });
  }
  stop.abort();
  await Promise.all(writers);
  for (const name of ["one", "two", "three"]) {
    const tables = await rowsIn(name);
    const rows = (table: string) => tables.get(table) ?? [];
    const nextVersion = (file: string) =>
      rows("files").find((row) => row["name"] === file)?.["next_version"];
    expect(nextVersion("left-0")).toBeGreaterThan(1);
    for (let writer = 0; writer < 4; writer += 1)
      expect(nextVersion(`left-${writer}`)).toBe(nextVersion(`right-${writer}`));
    const versions = Map.groupBy(rows("secret_versions"), (row) => row["secret_id"]);
    for (const secret of rows("secrets"))
      expect(versions.get(secret["id"])?.length).toBe(Number(secret["next_version"]) - 1);
    expect(versions.size).toBe(rows("secrets").length);
    const chunks = Map.groupBy(rows("file_chunks"), (row) => row["blob_id"]);
    for (const version of rows("file_versions")) {
      expect(chunks.get(version["blob_id"])).toHaveLength(
        Math.ceil(Number(version["size"]) / (256 * 1024)),
      );
    }
  }
}, 60_000);
