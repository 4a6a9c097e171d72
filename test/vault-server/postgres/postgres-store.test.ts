import { afterAll, beforeAll } from "vitest";
import { openPostgresStore } from "../../../src/vault-server/store/postgres/postgres-store.ts";
import { PostgresDatabase } from "../../support/postgres/postgres-database.ts";
import { storeConformance } from "../../support/vault/store-conformance/store-conformance.ts";

let database: PostgresDatabase;
beforeAll(async () => {
  database = await PostgresDatabase.create();
});
afterAll(() => database[Symbol.asyncDispose]());

const TABLES = `SELECT string_agg(quote_ident(tablename), ', ') AS tables FROM pg_tables
  WHERE schemaname = 'public' AND tablename <> 'schema_version'`;

storeConformance("PostgreSQL", async () => {
  const store = await openPostgresStore(database.url);
  return {
    store,
    close: async () => {
      await store[Symbol.asyncDispose]();
      // Emptying is quicker than another database.
      await database.run(`TRUNCATE ${(await database.run(TABLES)).rows[0].tables}`);
    },
  };
});
