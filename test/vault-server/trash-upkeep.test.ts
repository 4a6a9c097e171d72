import { writeFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { KeyFile } from "../../src/vault/server/crypto/key-file.ts";
import { KeyRing } from "../../src/vault/server/crypto/key-ring.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";
import { createVaultData, type VaultData } from "../lab/vault/vault-data.ts";

const [ANN, BOB, CID] = ["ann@example.com", "bob@example.com", "cid@example.com"];
const directory = new TestDirectory();
let keyPath = "";
let data: VaultData;
let vault: TestVault;
let [ann, bob, cid]: VaultClient[] = [];

async function start(location: string): Promise<void> {
  vault = await TestVault.start({
    data: location,
    masterKey: new KeyRing(new KeyFile(keyPath)),
    trashDays: 30,
    emails: [ANN, BOB, CID],
  });
  [ann, bob, cid] = [await vault.client(ANN), await vault.client(BOB), await vault.client(CID)];
}
beforeEach(async () => {
  keyPath = directory.join("master.key");
  await writeFile(keyPath, Buffer.from(generateMasterKey().reveal()).toString("base64"));
  data = await createVaultData();
  await start(data.location);
});
afterEach(async () => {
  await vault[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

const command = (...args: string[]) =>
  runInProcess(["vault", ...args], {
    VAULTSYNC_VAULT_DATA: data.location,
    VAULTSYNC_VAULT_MASTER_KEY_FILE: keyPath,
  });

/**
 * Puts a secret of two versions, that Bob may read directly and Cid with a team, and a file into the
 * trash. Returns their ids.
 */
async function fillTrash(): Promise<[secret: string, file: string]> {
  for (const key_value of ["one", "two"]) await ann!.call("protect", { key_name: "db", key_value });
  await ann!.call("team_create", { group_id: "ops", members: [CID] });
  for (const to of [{ usr_id_to: BOB }, { group_id_to: "ops" }])
    await ann!.call("share", { key_name: "db", usr_id_from: ANN, permission: "R", ...to });
  await ann!.upload([{ filename: "f", bytes: Buffer.from("bytes of f") }]);
  const [secret] = (await ann!.call("delete", { key_name: "db" })).json().trash;
  const [file] = (await ann!.call("delete_file", { filename: "f" })).json().trash;
  return [secret.id, file.id];
}

async function expectRestored(ids: readonly string[]): Promise<void> {
  expect((await ann!.call("trash_restore", { id: ids })).json().restored).toMatchObject([
    { name: "db", version: 2, shared: true },
    { name: "f", version: 1 },
  ]);
  for (const caller of [ann!, bob!, cid!]) {
    const one = await caller.call("version_expose_link", { key_name: "db", key_version: 1 });
    expect(one.json()).toMatchObject({ key_value: "one" });
  }
  const download = await ann!.call("download_file", { filename: "f" });
  expect(download.bytes.toString()).toBe("bytes of f");
}

test("after a rotation of the master key the trash is restored, with authentic shares", async () => {
  const ids = await fillTrash();
  expect(await command("rotate-key")).toMatchObject({ code: 0 });
  await expectRestored(ids);
});

test("a backup contains the trash", async () => {
  const ids = await fillTrash();
  const file = directory.join("backup");
  expect(await command("backup", "--to", file)).toMatchObject({ code: 0 });
  await using target = await createVaultData({ empty: true });
  const restored = await command(
    "restore",
    "--from",
    file,
    "--keep-tokens",
    "--data",
    target.location,
  );
  expect(restored).toMatchObject({ code: 0 });
  const tokens = [ann!, bob!, cid!];
  await vault[Symbol.asyncDispose]();
  vault = await TestVault.start({
    data: target.location,
    masterKey: new KeyRing(new KeyFile(keyPath)),
    trashDays: 30,
    emails: [],
  });
  [ann, bob, cid] = tokens.map((client) => client.at(vault.url));
  await expectRestored(ids);
});

test("a hand-over leaves the trash with the former owner, whose deletion removes it", async () => {
  await fillTrash();
  await ann!.call("protect", { key_name: "kept", key_value: "x" });
  await command("user", "disable", ANN, "--yes");
  const handOver = await command("user", "hand-over", ANN, BOB, "--secrets");
  expect(handOver).toMatchObject({ code: 0 });
  expect(handOver.stderr).toContain(`handed over secrets: 1, files: 0 to ${BOB}`);
  expect((await bob!.call("trash_list")).json().trash).toEqual([]);
  expect(await data.select("SELECT owner FROM trashed_secrets")).toMatchObject([{ owner: ANN }]);
  expect(await command("user", "delete", ANN, "--yes")).toMatchObject({ code: 0 });
  for (const table of ["trashed_secrets", "trashed_files", "file_versions", "file_chunks"])
    expect(await data.select(`SELECT * FROM ${table}`), table).toEqual([]);
  expect(await data.select("SELECT DISTINCT owner FROM secrets")).toMatchObject([{ owner: BOB }]);
});

test("a grant in the trash that no server has written gives nothing after the restore", async () => {
  const [id] = await fillTrash();
  await data.run("UPDATE person_grants SET writes = 1");
  await ann!.call("trash_restore", { id });
  expect((await bob!.call("expose_link", { key_name: "db" })).outcome()).toBe("403 forbidden");
});
