import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { storeConformance } from "../../../../../test/lab/vault/store-conformance/store-conformance.ts";
import { openSqliteStore } from "./sqlite-store.ts";

storeConformance("a SQLite file", async (macs) => {
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
  const location = join(directory, "vault.db");
  const store = openSqliteStore(location, macs);
  return {
    store,
    run: async (sql) => {
      using database = new DatabaseSync(location);
      database.exec(sql);
    },
    close: async () => {
      await store[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
});
