import { readFile, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { recordingLogger } from "../lab/assertions/recording-logger.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VaultClient } from "../lab/vault/vault-client.ts";
import { createVaultData, onPostgres, type VaultData } from "../lab/vault/vault-data.ts";
import { Redacted } from "../../src/lib/redacted.ts";
import { openStore } from "../../src/vault/server/store/open-store.ts";
import { postgresMigrations } from "../../src/vault/server/store/postgres/postgres-migrations.ts";
import { sqliteMigrations } from "../../src/vault/server/store/sqlite/sqlite-migrations.ts";
import { backedUpTables, omittedTables } from "../../src/vault/server/store/tables/raw-tables.ts";

/**
 * Schema version of the rows. Keep it when a step is added: the steps since then are tested with
 * rows.
 */
const VERSION = 8;
const [ANN, BOB, CID] = ["ann@example.com", "bob@example.com", "cid@example.com"];
/** Tables that were added since. */
const added = [
  "identities",
  "secret_consumers",
  "file_consumers",
  "trashed_secrets",
  "trashed_files",
];
/** Tables that the earlier release had. */
const tables = [...backedUpTables.map(({ name }) => name), ...omittedTables].filter(
  (name) => !added.includes(name),
);

const directory = new TestDirectory();
let data: VaultData;

/** Creates the tables of the first `version` steps. */
const atVersion = (empty: VaultData, version: number): Promise<unknown> =>
  onPostgres()
    ? empty.run(
        [
          ...postgresMigrations.slice(0, version),
          "CREATE TABLE schema_version (version integer NOT NULL)",
          `INSERT INTO schema_version VALUES (${version})`,
        ].join(";\n"),
      )
    : empty.run(
        [...sqliteMigrations.slice(0, version), `PRAGMA user_version = ${version}`].join(";\n"),
      );

beforeEach(async () => {
  data = await createVaultData({ empty: true });
  const rows = await readFile(new URL("../lab/vault/schema-8-rows.sql", import.meta.url), "utf8");
  await atVersion(data, VERSION);
  await data.run(onPostgres() ? rows.replaceAll(/x'([0-9a-f]*)'/gu, String.raw`'\x$1'`) : rows);
});
afterEach(() => data[Symbol.asyncDispose]());

/** Returns the rows of each table. */
async function everything(): Promise<Record<string, Record<string, unknown>[]>> {
  return Object.fromEntries(
    await Promise.all(
      tables.map(async (name) => [name, await data.select(`SELECT * FROM ${name} ORDER BY 1, 2`)]),
    ),
  );
}

test("opening data of an earlier release keeps every row of every table", async () => {
  const before = await everything();
  for (const [name, rows] of Object.entries(before))
    expect([name, rows.length > 0]).toEqual([name, true]);
  const migrated = await openStore(data.location);
  expect(migrated.migration).toMatchObject({ from: VERSION });
  await migrated[Symbol.asyncDispose]();
  const current = await openStore(data.location);
  expect(current.migration).toBeUndefined();
  await current[Symbol.asyncDispose]();
  const after = await everything();
  // Columns that were added since are allowed.
  for (const [name, rows] of Object.entries(before)) {
    expect(after[name]).toHaveLength(rows.length);
    expect(after[name]).toMatchObject(rows);
  }
});

test("a command does not migrate data that a server of an earlier release may be using", async () => {
  const key = directory.join("master.key");
  await writeFile(key, `${Buffer.alloc(32, 7).toString("base64")}\n`);
  await writeFile(directory.join("password"), "correct horse battery staple\n");
  const env = { VAULTSYNC_VAULT_DATA: data.location, VAULTSYNC_VAULT_MASTER_KEY_FILE: key };
  const schema = onPostgres() ? "SELECT version FROM schema_version" : "PRAGMA user_version";
  const before = await data.select(schema);
  for (const command of [
    ["backup", "--to", directory.join("backup")],
    ["inventory"],
    ["rotate-key"],
    ["user", "list"],
    ["user", "disable", ANN, "--yes"],
    ["user", "add", "dan@example.com", "--password-file", directory.join("password")],
  ]) {
    expect(await runInProcess(["vault", ...command], env)).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^vaultsync: the data is of an earlier release /u),
    });
  }
  expect(await data.select(schema)).toEqual(before);
  await (await openStore(data.location))[Symbol.asyncDispose]();
  expect(await runInProcess(["vault", "user", "list"], env)).toMatchObject({ code: 0 });
});

test("a server on data of an earlier release serves secrets, files, shares, teams and logins", async () => {
  const masterKey = new Redacted(new Uint8Array(32).fill(7));
  const clock = new VirtualClock(Date.UTC(2026, 10, 21, 0, 1));
  const { logger, lines } = recordingLogger();
  const options = { data: data.location, masterKey, clock, emails: [], logger };
  const [, sealRights = ""] =
    /--seal-rights ([0-9a-f]+)/u.exec(await TestVault.start(options).then(() => "", String)) ?? [];
  await using vault = await TestVault.start({ ...options, sealRights });
  const migrations = lines.filter(({ fields }) => fields["event"] === "data_migrated");
  expect(migrations).toMatchObject([{ level: "info", fields: { fromSchema: VERSION } }]);
  const logIn = (email: string) =>
    vault.logIn(email, { password: `password of ${email.split("@", 1).join("")}` });
  const client = async (email: string): Promise<VaultClient> =>
    new VaultClient(vault.url, email, { token: (await logIn(email)).json().access_token });
  const [ann, bob] = [await client(ANN), await client(BOB)];
  expect((await logIn(CID)).outcome()).toBe("401 invalid_credentials");

  const old = await ann.call("version_expose_link", { key_name: "alpha", key_version: 1 });
  expect(old.json()).toMatchObject({ key_value: "first value", metadata: { note: "n1" } });
  const shared = await bob.call("expose_link", { key_name: "alpha", owner: ANN });
  expect(shared.json()).toMatchObject({
    key_value: "second value",
    key_version: 2,
    metadata: { expiration_time: 10 },
  });
  expect((await ann.call("expose_link", { key_name: "beta 💚" })).json().key_value).toBe("");
  expect((await bob.call("list_no_dup")).json().secrets).toMatchObject([
    { key_name: "alpha" },
    { key_name: "gamma" },
  ]);
  expect((await bob.call("expose", { key_name: "gamma" })).json().key_value).toBe("bob's");
  expect((await ann.call("team_list")).json()).toEqual({
    teams: [{ group_id: "ops", creator: ANN, members: [ANN, BOB, CID] }],
  });
  expect((await bob.call("blocked_senders")).json()).toEqual({ blocked: [CID] });

  expect((await ann.call("list_file")).json().files).toMatchObject([
    { filename: "empty", versions: [{ version: 1 }] },
    { filename: "f.txt", versions: [{ version: 1 }, { version: 2 }] },
  ]);
  expect(
    (await ann.call("download_file", { filename: "f.txt", version: 1 })).bytes.toString(),
  ).toBe("file one");
  expect((await ann.call("download_file", { filename: "f.txt" })).bytes.toString()).toBe(
    "file two",
  );

  const written = await ann.call("protect_link", { key_name: "alpha", key_value: "third value" });
  expect(written.json().secret).toMatchObject({
    key_version: 3,
    metadata: { note: "n1", expiration_time: 10 },
  });
});

test("a new team cannot look like one of an earlier release", async () => {
  const masterKey = new Redacted(new Uint8Array(32).fill(7));
  const options = { data: data.location, masterKey, emails: [] };
  const [, sealRights = ""] =
    /--seal-rights ([0-9a-f]+)/u.exec(await TestVault.start(options).then(() => "", String)) ?? [];
  await using vault = await TestVault.start({ ...options, sealRights });
  const token = (await vault.logIn(ANN, { password: "password of ann" })).json().access_token;
  const ann = new VaultClient(vault.url, ANN, { token });
  const outcomes: string[] = [];
  for (const group_id of ["орѕ", "0ps", "ops 2"])
    outcomes.push((await ann.call("team_create", { group_id })).outcome());
  expect(outcomes).toEqual(["409 team_exists", "409 team_exists", "200"]);
});

test("a team with the name of an address is removed with what was shared with it", async () => {
  await data.run(`
    INSERT INTO teams (group_id, creator) VALUES ('dana@example.com', '${BOB}'), ('dana＠example.com', '${BOB}');
    INSERT INTO team_members (group_id, email) VALUES ('dana@example.com', '${ANN}'), ('dana@example.com', '${BOB}');
    INSERT INTO team_grants (secret_id, group_id, reads, writes) SELECT id, 'dana@example.com', 1, 0 FROM secrets WHERE name = 'alpha';`);
  const revisions = () =>
    data.select("SELECT subject, revision FROM list_revisions ORDER BY subject");
  const before = await revisions();
  await using store = await openStore(data.location);
  const teams = await store.read((transaction) => transaction.teams.list(ANN, undefined, 100));
  expect(new Set(teams.map(({ groupId }) => groupId))).toEqual(new Set(["ops"]));
  expect(await data.select("SELECT group_id FROM team_grants")).toEqual([{ group_id: "ops" }]);
  expect(before.length).toBeGreaterThan(0);
  for (const row of await revisions()) expect(before).not.toContainEqual(row);
});

test("a consumer of an earlier release keeps its read when another account names it", async () => {
  // Given data in which a consumer has one row, whichever accounts name it.
  await using former = await createVaultData({ empty: true });
  await atVersion(former, onPostgres() ? 22 : 24);
  const read = { consumer: "c/shop/VaultSecret/db", version: 2, account: ANN };
  await former.run(
    [
      ...[ANN, BOB].map((email) => `INSERT INTO users VALUES ('${email}', 'hash', 5, 0, '')`),
      `INSERT INTO secrets VALUES ('s1', '${ANN}', 'db', 3, 0, 9e15)`,
      `INSERT INTO files VALUES ('f1', '${ANN}', 'db', 3)`,
      ...["secret_consumers VALUES ('s1'", "file_consumers VALUES ('f1'"].map(
        (row) => `INSERT INTO ${row}, '${read.consumer}', ${read.version}, 7, '${ANN}')`,
      ),
    ].join(";\n"),
  );
  // When another account names the same consumer, then each has its row.
  await using store = await openStore(former.location);
  for (const [kind, id] of [
    ["secret", "s1"],
    ["file", "f1"],
  ] as const) {
    await store.write(({ consumers }) =>
      consumers.record(kind, id, { ...read, account: BOB, version: 1, readAt: 8 }, 50),
    );
    expect(await store.read(({ consumers }) => consumers.list(kind, id))).toEqual([
      { ...read, account: BOB, version: 1, readAt: 8 },
      { ...read, readAt: 7 },
    ]);
  }
});
