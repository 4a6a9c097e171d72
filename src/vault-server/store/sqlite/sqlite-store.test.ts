import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeConformance } from "../../../../test/support/vault/store-conformance/store-conformance.ts";
import { openSqliteStore } from "./sqlite-store.ts";

storeConformance("a SQLite file", async () => {
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
  const store = openSqliteStore(join(directory, "vault.db"));
  return {
    store,
    close: async () => {
      await store[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
});
