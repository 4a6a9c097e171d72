import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { sqliteMigrations } from "./sqlite-migrations.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const NOW = 1_700_000_000_000;

async function dataFile(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  return join(directory, "vault.db");
}

test("opening data of the first release keeps its secrets and allows sharing them", async () => {
  const location = await dataFile();
  const first = new DatabaseSync(location);
  first.exec(sqliteMigrations[0]!);
  first.exec(`
    PRAGMA user_version = 1;
    INSERT INTO users VALUES ('ann@example.com', 'hash', ${NOW});
    INSERT INTO secrets VALUES ('id', 'ann@example.com', 'kept', 3, 5, ${NOW + 1});
    INSERT INTO secret_versions VALUES ('id', 2, '{"a":1}', ${NOW}, ${NOW}, 'key', x'01', x'02');
  `);
  first.close();
  await using store = openSqliteStore(location);
  await store.write(({ grants }) =>
    grants.grant(
      { id: "id", owner: "ann@example.com", name: "kept" },
      [{ kind: "person", email: "bob@example.com" }],
      "R",
    ),
  );
  const accesses = await store.read(async ({ secrets }) =>
    secrets.accessByIds("bob@example.com", await secrets.listIds("bob@example.com", NOW), NOW),
  );
  expect(accesses).toMatchObject([
    {
      shared: true,
      permission: "R",
      secret: { owner: "ann@example.com", nextVersion: 3 },
      latest: { version: 2, metadata: { a: 1 } },
    },
  ]);
});

test("opening data of this release leaves it unchanged", async () => {
  const location = await dataFile();
  for (const known of [false, true]) {
    await using store = openSqliteStore(location);
    expect(await store.read(({ settings }) => settings.get("known"))).toBe(
      known ? "yes" : undefined,
    );
    await store.write(({ settings }) => settings.set("known", "yes"));
  }
});
