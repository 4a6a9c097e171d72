import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

const directory = new TestDirectory();
const ann = "ann@example.com";
const bob = "bob@example.com";
const MIB = 1024 * 1024;
/** 200 versions of 1 MiB with `VAULTSYNC_TEST_LARGE=1`. */
const VERSIONS = process.env["VAULTSYNC_TEST_LARGE"] === "1" ? 200 : 20;

const PATIENT = { timeout: 30_000 };

interface Rows {
  readonly versions: number;
  readonly bytes: number;
  readonly grants: number;
}

/** Returns what the data file has: what a request removes in its transaction is the difference. */
function rowsIn(data: string): Rows {
  const database = new DatabaseSync(data, { readOnly: true });
  try {
    const number = (sql: string): number =>
      Number(Object.values(database.prepare(sql).get() ?? {})[0]);
    return {
      versions: number("SELECT count(*) FROM secret_versions"),
      bytes: number("SELECT coalesce(sum(octet_length(sealed)), 0) FROM secret_versions"),
      grants: number("SELECT count(*) FROM person_grants"),
    };
  } finally {
    database.close();
  }
}

/** Starts a server whose sweeper waits for the clock. */
async function start(name: string) {
  const clock = new VirtualClock();
  const data = directory.join(`${name}.db`);
  const vault = await TestVault.start({ data, clock, limits: { requestBurst: 10_000 } });
  const sweptRows = async (): Promise<Rows> => {
    await clock.advance(10_000);
    return rowsIn(data);
  };
  return { vault, clock, rows: () => rowsIn(data), sweptRows };
}

async function fill(
  caller: VaultClient,
  name: string,
  versions: number,
  bytes: number,
  more: object = {},
): Promise<void> {
  for (let version = 1; version <= versions; version += 1) {
    const body = { key_name: name, key_value: "x".repeat(bytes), ...more };
    expect((await caller.call("protect", body)).outcome()).toBe("200");
  }
}

const share = (caller: VaultClient, names: string[], usr_id_to: string[]) =>
  caller.call("share", { key_name: names, usr_id_from: ann, usr_id_to, permission: "R" });
const recipients = (count: number): string[] => [
  bob,
  ...Array.from({ length: count - 1 }, (_, n) => `user${n}@example.com`),
];

test("delete erases no version of a large secret itself; its name restarts at version 1", async () => {
  const { vault, rows, sweptRows } = await start("large");
  await using _vault = vault;
  const [caller, other] = [await vault.client(ann), await vault.client(bob)];
  await fill(caller, "a", VERSIONS, MIB);
  expect((await share(caller, ["a"], [bob])).status).toBe(200);
  const before = rows();
  expect((await caller.call("delete", { key_name: "a" })).outcome()).toBe("200");
  expect(rows()).toEqual(before);
  for (const user of [caller, other]) {
    expect((await user.call("list_no_dup")).json().secrets).toEqual([]);
    for (const operation of ["expose", "expose_link", "version_list"] as const) {
      expect((await user.call(operation, { key_name: "a" })).outcome()).toBe(
        "404 secret_not_found",
      );
    }
  }
  expect(
    (await caller.call("protect", { key_name: "a", key_value: "new" })).json().secret.key_version,
  ).toBe(1);
  expect((await other.call("list_no_dup")).json().secrets).toEqual([]);
  await expect.poll(sweptRows, PATIENT).toMatchObject({ versions: 1 });
  expect((await caller.call("expose", { key_name: "a" })).json().key_value).toBe("new");
  expect(await vault.metric("vaultsync_vault_secrets_removed_total")).toBe(0);
});

test("delete of a secret with many grants and protect of a due name remove none of their rows", async () => {
  const { vault, clock, rows, sweptRows } = await start("grants");
  await using _vault = vault;
  const caller = await vault.client(ann);
  await fill(caller, "shared", 1, 1);
  await fill(caller, "due", 20, 1, { delete_time: 1 });
  expect((await share(caller, ["shared"], recipients(50))).status).toBe(200);
  const before = rows();
  expect((await caller.call("delete", { key_name: "shared" })).outcome()).toBe("200");
  clock.stepWall(60_000);
  expect(
    (await caller.call("protect", { key_name: "due", key_value: "new" })).json().secret.key_version,
  ).toBe(1);
  expect(rows()).toMatchObject({ versions: before.versions + 1, grants: before.grants });
  await expect.poll(sweptRows, PATIENT).toMatchObject({ versions: 1, grants: 0 });
});

test("delete of many secrets erases at most 4 MiB itself, and a small secret immediately", async () => {
  const { vault, rows, sweptRows } = await start("many");
  await using _vault = vault;
  const caller = await vault.client(ann);
  const key_name = Array.from({ length: 10 }, (_, index) => `name-${index}`);
  for (const name of key_name) await fill(caller, name, 1, MIB);
  await fill(caller, "small", 3, 10);
  const before = rows();
  expect((await caller.call("delete", { key_name: "small" })).outcome()).toBe("200");
  expect(before.versions - rows().versions).toBe(3);
  expect((await caller.call("delete", { key_name })).outcome()).toBe("200");
  expect(before.bytes - rows().bytes).toBeLessThan(4.1 * MIB);
  expect((await caller.call("list_no_dup")).json().secrets).toEqual([]);
  await expect.poll(sweptRows, PATIENT).toEqual({ versions: 0, bytes: 0, grants: 0 });
});
