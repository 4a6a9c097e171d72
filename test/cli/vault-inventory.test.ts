import { rm, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { KeyFile } from "../../src/vault/server/crypto/key-file.ts";
import { KeyRing } from "../../src/vault/server/crypto/key-ring.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";

const [ann, bob] = ["ann@example.com", "bob@example.com"];
const CANARY = "canary-value-5d21";
const directory = new TestDirectory();

test("vault inventory lists the entries of a store whose master key is lost", async () => {
  const [data, key] = [directory.join("vault.db"), directory.join("master.key")];
  await writeFile(key, Buffer.from(generateMasterKey().reveal()).toString("base64"));
  const vault = await TestVault.start({
    data,
    masterKey: new KeyRing(new KeyFile(key)),
    emails: [ann, bob],
    trashDays: 30,
  });
  const client = await vault.client(ann);
  for (const key_value of ["one", CANARY])
    await client.call("protect", { key_name: "db", key_value, metadata: { team: "shop" } });
  await client.call("team_create", { group_id: "ops", members: [bob] });
  for (const to of [{ usr_id_to: bob }, { group_id_to: "ops" }])
    await client.call("share", { key_name: "db", usr_id_from: ann, permission: "R", ...to });
  await client.call("protect", { key_name: "deleted", key_value: CANARY });
  await client.call("delete", { key_name: "deleted" });
  await client.upload([{ filename: "app.conf", bytes: Buffer.from("xyz") }]);
  await vault[Symbol.asyncDispose]();
  await rm(key);

  const { code, stdout, stderr } = await runInProcess(["vault", "inventory", "--data", data]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).not.toContain(CANARY);
  const lines = stdout.trim().split("\n");
  expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
    { kind: "account", name: ann, teams: ["ops"] },
    {
      kind: "secret",
      owner: ann,
      name: "db",
      version: 2,
      metadata: expect.objectContaining({ team: "shop" }),
      shared_with: [bob, "ops"],
    },
    { kind: "file", owner: ann, name: "app.conf", version: 1, size: 3 },
    { kind: "account", name: bob, teams: [] },
  ]);
});

test("vault inventory rejects a store that does not exist", async () => {
  const missing = directory.join("missing.db");
  expect(await runInProcess(["vault", "inventory", "--data", missing])).toEqual({
    code: 1,
    stdout: "",
    stderr: `vaultsync: data file not found: ${missing}\n`,
  });
});
