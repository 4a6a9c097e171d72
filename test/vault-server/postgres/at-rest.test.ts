import { expect, test } from "vitest";
import { generateMasterKey } from "../../../src/vault/server/crypto/master-key.ts";
import { openPostgresStore } from "../../../src/vault/server/store/postgres/postgres-store.ts";
import { PostgresCluster } from "../../lab/postgres/postgres-cluster.ts";
import { PostgresDatabase } from "../../lab/postgres/postgres-database.ts";
import { addSecret, secretOf, ANN, NOW } from "../../lab/vault/use-store.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";
import { everyByte } from "../../lab/vault/vault-data.ts";

// What was altered or swapped in the database is refused: see test/vault-server/at-rest.test.ts.
// That file runs on this store too.

test("no value, file, password or token is readable in any file of the database server", async () => {
  await using cluster = await PostgresCluster.start();
  const canary = "canary-value-61e0b2d4";
  const secrets: string[] = [canary];
  {
    await using vault = await TestVault.start({
      data: cluster.url(),
      masterKey: generateMasterKey(),
    });
    const ann = await vault.client("ann@example.com");
    for (let version = 0; version < 3; version += 1)
      await ann.call("protect", { key_name: "a", key_value: canary });
    await ann.call("protect", { key_name: "big", key_value: canary.repeat(5000) });
    await ann.upload([{ filename: "f", bytes: Buffer.from(canary.repeat(20_000)) }]);
    await ann.call("delete", { key_name: "a" });
    await vault.logIn("ann@example.com", { password: canary });
    secrets.push(ann.token, vault.passwords.get("ann@example.com") ?? "");
  }
  await cluster.down("fast");
  const written = await everyByte(cluster.directory);
  expect(written.includes("secret_versions")).toBe(true);
  for (const text of secrets) {
    for (const encoded of [
      text,
      Buffer.from(text).toString("base64").slice(0, -4),
      Buffer.from(text).toString("hex"),
    ]) {
      expect(written.includes(encoded)).toBe(false);
    }
  }
});

test("tables with sealed bytes are vacuumed once after a removal, and only then", async () => {
  await using database = await PostgresDatabase.create();
  await using store = await openPostgresStore(database.url);
  await store.write(({ users }) => users.insert({ email: ANN, passwordHash: "hash" }, NOW));
  const vacuums = async (): Promise<number> => {
    await store.scrub();
    const sql = "SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = 'secret_versions'";
    return (await database.run(sql)).rows[0].vacuum_count;
  };
  await store.write((transaction) => addSecret(transaction, ANN, "a"));
  expect(await vacuums()).toBe(0);
  await store.write(({ secrets }) => secrets.remove("none"));
  expect(await vacuums()).toBe(0);
  await store.write(({ secrets }) => secrets.remove(secretOf(ANN, "a").id));
  expect(await vacuums()).toBe(1);
  expect(await vacuums()).toBe(1);
});
