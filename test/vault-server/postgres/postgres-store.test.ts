import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPostgresStore } from "../../../src/vault/server/store/postgres/postgres-store.ts";
import { PostgresDatabase } from "../../lab/postgres/postgres-database.ts";
import { secretOf } from "../../lab/vault/store-conformance/fixture.ts";
import { storeConformance } from "../../lab/vault/store-conformance/store-conformance.ts";

let database: PostgresDatabase;
beforeAll(async () => {
  database = await PostgresDatabase.create();
});
afterAll(() => database[Symbol.asyncDispose]());

const TABLES = `SELECT string_agg(quote_ident(tablename), ', ') AS tables FROM pg_tables
  WHERE schemaname = 'public' AND tablename <> 'schema_version'`;

storeConformance("PostgreSQL", async (macs) => {
  const store = await openPostgresStore(database.url, { macs });
  return {
    store,
    run: (sql) => database.run(sql),
    close: async () => {
      await store[Symbol.asyncDispose]();
      // Emptying is quicker than another database.
      await database.run(`TRUNCATE ${(await database.run(TABLES)).rows[0].tables}`);
    },
  };
});

test("a write that has failed sends no more statements, which would not be rolled back", async () => {
  await using store = await openPostgresStore(database.url);
  const late: Promise<void>[] = [];
  const failing = store.write(async ({ secrets, settings }) => {
    const inserted = secrets.insert(secretOf("nobody@example.com", "a"));
    const afterFailure = async (): Promise<void> => {
      await inserted.catch(() => undefined);
      await nextTurn();
      await settings.set("late", "value");
    };
    late.push(afterFailure().catch(() => undefined));
    await inserted;
  });
  await expect(failing).rejects.toMatchObject({ code: "23503" });
  await Promise.all(late);
  expect(await store.read(({ settings }) => settings.get("late"))).toBeUndefined();
});
