import { expect, test } from "vitest";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { insertPostgresSecrets, insertSecrets } from "../lab/vault/insert-secrets.ts";
import { spyOnStatements } from "../lab/vault/statement-spy.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { createVaultData, onPostgres } from "../lab/vault/vault-data.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";

const [ANN, BOB] = ["ann@example.com", "bob@example.com"];
const SECRETS = 1_000;
/** Versions of a secret and of a file: more than one request removes in its transaction. */
const VERSIONS = 20;
/** Most rows that one statement may remove. */
const TOGETHER = 200;

test("a user with much is deleted in small transactions, with the trash and all bytes", async () => {
  const masterKey = generateMasterKey();
  const key = Buffer.from(masterKey.reveal()).toString("base64");
  await using data = await createVaultData();
  await using vault = await TestVault.start({
    data: data.location,
    masterKey,
    trashDays: 30,
    limits: { requestBurst: 1e6 },
  });
  const [ann, bob] = [await vault.client(ANN), await vault.client(BOB)];
  for (let version = 0; version < VERSIONS; version += 1) {
    await ann.call("protect", { key_name: "shared", key_value: "canary-31f0" });
    await ann.upload([{ filename: "file", bytes: Buffer.from("canary-31f0") }]);
  }
  await ann.upload([{ filename: "trashed", bytes: Buffer.alloc(2_000_000, "canary-31f0") }]);
  await ann.call("delete_file", { filename: "trashed" });
  await ann.call("protect", { key_name: "trashed", key_value: "canary-31f0" });
  await ann.call("delete", { key_name: "trashed" });
  const share = { key_name: "shared", permission: "R", usr_id_from: ANN, usr_id_to: BOB };
  await ann.call("share", share);
  if (onPostgres()) await insertPostgresSecrets(data.location, ANN, SECRETS, Date.now());
  else insertSecrets(data.location, ANN, SECRETS, Date.now());
  let most = 0;
  const run = <T>(sql: string, work: () => T, rowsOf: (result: T) => number): T => {
    const result = work();
    if (sql.trimStart().startsWith("DELETE")) most = Math.max(most, rowsOf(result));
    return result;
  };
  using _spy = spyOnStatements(run);
  const env = { VAULTSYNC_VAULT_DATA: data.location, VAULTSYNC_VAULT_MASTER_KEY: key };
  const deleted = await runInProcess(["vault", "user", "delete", ANN, "--yes"], env);
  expect(deleted).toMatchObject({ code: 0, stderr: "deleted ann@example.com\n" });
  expect(most).toBeLessThanOrEqual(TOGETHER);
  const count = async (table: string): Promise<number> =>
    (await data.select(`SELECT * FROM ${table}`)).length;
  const tables = ["secrets", "secret_versions", "files", "file_versions", "file_chunks"];
  const kept = ["staged_blobs", "trashed_secrets", "trashed_files", "person_grants"];
  for (const table of [...tables, ...kept]) expect([table, await count(table)]).toEqual([table, 0]);
  expect(await count("users")).toBe(1);
  expect((await bob.call("list_no_dup")).json()).toEqual({ secrets: [] });
  // PostgreSQL overwrites removed rows later.
  expect(data.overwrites && (await data.written()).includes("canary-31f0")).toBe(false);
});
