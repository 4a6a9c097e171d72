import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString } from "../lab/vault/vault-client.ts";
import { createVaultData, type VaultData } from "../lab/vault/vault-data.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const directory = new TestDirectory();
let data: VaultData;
let clock: VirtualClock;
let vault: TestVault;

beforeEach(async () => {
  data = await createVaultData();
  clock = new VirtualClock();
  const mail = { directory: directory.join("mail") };
  vault = await TestVault.start({
    data: data.location,
    masterKey: generateMasterKey(),
    clock,
    mail,
    signUp: { mode: "open" },
  });
});
afterEach(async () => {
  await vault[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

async function count(table: string, condition = "1 = 1"): Promise<number> {
  return Number(
    (await data.select(`SELECT count(*) AS count FROM ${table} WHERE ${condition}`))[0]?.["count"],
  );
}

/** Resolves when sweeps have left this many rows. */
async function swept(table: string, left: number, condition?: string): Promise<void> {
  await waitUntil("the sweep", async () => {
    await clock.advance(10_000);
    return (await count(table, condition)) === left;
  });
}

test("more expired rows than one transaction removes are all removed", async () => {
  const ann = await vault.client("ann@example.com", scopeString(), 1e6);
  const rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)";
  const past = clock.now() - 200 * DAY_MS;
  await data.change(
    `INSERT INTO refresh_tokens (digest, email, scope, hours, last_used_at) ${rows} SELECT 'r' || i, '${ann.email}', 's', 1, ${past} FROM n`,
    450,
  );
  await data.change(
    `INSERT INTO access_tokens (digest, refresh_digest, email, scope, expires_at) ${rows}
     SELECT 'a' || i, 'r' || i, '${ann.email}', 's', ${past} FROM n`,
    450,
  );
  await data.change(
    `INSERT INTO email_proofs (digest, email, expires_at) ${rows} SELECT 'p' || i, 'x', ${past} FROM n`,
    450,
  );
  await data.change(
    `INSERT INTO login_failures (subject, at) ${rows} SELECT 's' || i, ${past} FROM n`,
    450,
  );
  await swept("login_failures", 0, "subject LIKE 's%'");
  await swept("email_proofs", 0);
  await swept("refresh_tokens", 1);
  await swept("access_tokens", 1);
  expect((await ann.call("team_list")).status).toBe(200);
});

test("an expired access token is kept while its refresh token needs it, and removed with it", async () => {
  const pair = (await vault.logIn("ann@example.com")).json();
  clock.stepWall(2 * HOUR_MS);
  const body = { refresh_token: pair.refresh_token, used_access_token: pair.access_token };
  expect((await vault.post(operationPath.refresh_token, body)).status).toBe(200);
  clock.stepWall(91 * DAY_MS);
  await swept("refresh_tokens", 0);
  await swept("access_tokens", 0);
});

test("a secret past its deadline is removed version by version, and no longer counts", async () => {
  const ann = await vault.client("ann@example.com", scopeString(), 1e6);
  for (let version = 0; version < 10; version += 1) {
    await ann.call("protect", { key_name: "due", key_value: `value ${version}`, delete_time: 1 });
  }
  await ann.call("protect", { key_name: "kept", key_value: "value" });
  await clock.advance(60_000);
  await swept("secrets", 1);
  expect(await count("secret_versions")).toBe(1);
  await waitUntil("the sweep", async () => {
    await clock.advance(10_000);
    return (await vault.metric("vaultsync_vault_versions")) === 1;
  });
  expect(await vault.metric("vaultsync_vault_secrets")).toBe(1);
});

test("the bytes of a deleted file are removed by the next sweep", async () => {
  const ann = await vault.client("ann@example.com", scopeString(), 1e6);
  await ann.upload([{ filename: "f", bytes: Buffer.alloc(5_000_000, 1) }]);
  expect(await count("file_chunks")).toBe(20);
  await ann.call("delete_file", { filename: "f" });
  await swept("file_chunks", 0);
  expect(await count("staged_blobs")).toBe(0);
});

test("addresses without an account have no list revision, and a deleted team leaves none", async () => {
  const ann = await vault.client("ann@example.com", scopeString(), 1e6);
  await ann.call("protect", { key_name: "a", key_value: "v" });
  const strangers = Array.from({ length: 50 }, (_, index) => `stranger-${index}@example.com`);
  await ann.call("team_create", { group_id: "t", members: strangers });
  await ann.call("share", {
    key_name: "a",
    permission: "R",
    usr_id_from: ann.email,
    usr_id_to: strangers,
  });
  await ann.call("share", {
    key_name: "a",
    permission: "R",
    usr_id_from: ann.email,
    group_id_to: "t",
  });
  expect(await count("list_revisions", "subject LIKE '%stranger%'")).toBe(0);
  expect(await count("list_revisions", "subject = 'team:t'")).toBe(1);
  await ann.call("team_delete", { group_id: "t" });
  expect(await count("list_revisions", "subject = 'team:t'")).toBe(0);
});

test("emails in files are removed when their links have expired, other files are not", async () => {
  await vault.post("/app/request_password", { email: "new@example.com" }, { origin: vault.url });
  const mail = directory.join("mail");
  await waitUntil("the sweep", async () => {
    await clock.advance(5000);
    return (await readdir(mail)).length === 1;
  });
  await writeFile(join(mail, "notes.eml"), "");
  clock.stepWall(6 * DAY_MS);
  await clock.advance(20_000);
  expect((await readdir(mail)).length).toBe(2);
  clock.stepWall(DAY_MS + HOUR_MS);
  await waitUntil("the sweep", async () => {
    await clock.advance(10_000);
    return (await readdir(mail)).length === 1;
  });
  expect(await readdir(mail)).toEqual(["notes.eml"]);
});
