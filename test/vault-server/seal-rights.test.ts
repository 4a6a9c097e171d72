import { afterEach, beforeEach, expect, test } from "vitest";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { rightNames } from "../../src/vault/server/store/tables/rotation-tables.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VaultClient } from "../lab/vault/vault-client.ts";
import { createVaultData, type VaultData } from "../lab/vault/vault-data.ts";

const [ANN, BOB, EVE] = ["ann@example.com", "bob@example.com", "eve@example.com"];
let data: VaultData;
let masterKey = generateMasterKey();
const tokens = new Map<string, string>();
beforeEach(async () => {
  data = await createVaultData();
  masterKey = generateMasterKey();
  await using vault = await start(undefined, [ANN, BOB, EVE]);
  for (const email of [ANN, BOB, EVE]) tokens.set(email, (await vault.client(email)).token);
  const ann = client(vault, ANN);
  await ann.call("protect", { key_name: "crown", key_value: "v" });
  await ann.call("team_create", { group_id: "ops", members: [BOB] });
  await ann.call("share", {
    key_name: "crown",
    permission: "R",
    usr_id_from: ANN,
    group_id_to: "ops",
  });
});
afterEach(() => data[Symbol.asyncDispose]());

const start = (sealRights?: string, emails: readonly string[] = []): Promise<TestVault> =>
  TestVault.start({
    data: data.location,
    masterKey,
    emails,
    ...(sealRights !== undefined && { sealRights }),
  });
const client = (vault: TestVault, email: string) =>
  new VaultClient(vault.url, email, { token: tokens.get(email) ?? "" });
const expose = async (vault: TestVault, email: string) =>
  (await client(vault, email).call("expose_link", { key_name: "crown", owner: ANN })).outcome();

/** Removes what a release with MACs has added to the data. */
async function removeMacs(): Promise<void> {
  for (const table of rightNames) await data.run(`UPDATE ${table} SET mac = ''`);
  await removeMark();
}
const removeMark = () => data.run("DELETE FROM settings WHERE name = 'rights'");

/** Returns the confirmation that a refused start names, and the number of rows. */
async function refusal(sealRights?: string): Promise<{ confirmation: string; rows: number }> {
  const message = await start(sealRights).then(() => "started", String);
  const [, rows, confirmation = ""] =
    /\(([0-9]+) rows?\).*--seal-rights ([0-9a-f]{16});/u.exec(message) ?? [];
  return { confirmation, rows: Number(rows) };
}

async function unsealed(): Promise<number> {
  const counts = await Promise.all(
    rightNames.map((table) => data.select(`SELECT count(*) AS rows FROM ${table} WHERE mac = ''`)),
  );
  return counts.flat().reduce((sum, row) => sum + Number(row["rows"]), 0);
}

test("data of an earlier release is sealed by the start that confirms exactly its rows, once", async () => {
  await removeMacs();
  const before = await unsealed();
  const { confirmation, rows } = await refusal();
  expect(rows).toEqual(before);
  expect(await refusal("0123456789abcdef")).toEqual({ confirmation, rows });
  expect(await unsealed()).toEqual(before);
  {
    await using vault = await start(confirmation);
    expect(await expose(vault, BOB)).toBe("200");
    expect(await expose(vault, EVE)).toBe("404 secret_not_found");
    expect(await unsealed()).toBe(0);
  }
  await using again = await start();
  expect(await expose(again, BOB)).toBe("200");
});

test("rows added by SQL are not sealed when the mark is removed and the confirmation still set", async () => {
  await removeMacs();
  const { confirmation } = await refusal();
  await (await start(confirmation))[Symbol.asyncDispose]();
  const added = `INSERT INTO person_grants (secret_id, email, reads, writes) SELECT id, '${EVE}', 1, 1 FROM secrets`;
  await data.run(added);
  {
    await using vault = await start(confirmation);
    expect(await expose(vault, EVE)).toBe("403 forbidden");
  }
  await removeMark();
  expect(await refusal(confirmation)).toMatchObject({ rows: 1 });
  await removeMacs();
  const other = await refusal(confirmation);
  expect(other.confirmation).not.toBe(confirmation);
  expect(await unsealed()).toBeGreaterThan(0);
});

test("the mark alone does not matter while all rows have MACs", async () => {
  await removeMark();
  await using vault = await start();
  expect(await expose(vault, BOB)).toBe("200");
});
