import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { VaultServerOptions } from "../../src/vault/server/vault-server.ts";
import { defaultQuotas } from "../../src/vault/server/limits.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, type VaultClient } from "../lab/vault/vault-client.ts";

const [ANN, BOB, CID] = ["ann@example.com", "bob@example.com", "cid@example.com"];
const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 10, 21);
const directory = new TestDirectory();
let clock: VirtualClock;
let vault: TestVault;
let [ann, bob, cid]: VaultClient[] = [];

async function start(options: Partial<VaultServerOptions> = {}): Promise<void> {
  clock = new VirtualClock(START);
  vault = await TestVault.start({ trashDays: 30, clock, emails: [ANN, BOB, CID], ...options });
  [ann, bob, cid] = [
    await vault.client(ANN, undefined, 10_000),
    await vault.client(BOB, undefined, 10_000),
    await vault.client(CID, undefined, 10_000),
  ];
}
beforeEach(() => start());
afterEach(() => vault[Symbol.asyncDispose]());

async function restart(options: Partial<VaultServerOptions>): Promise<void> {
  await vault[Symbol.asyncDispose]();
  await start(options);
}

const protect = async (key_name: string, key_value = "x", more: object = {}) =>
  (await ann!.call("protect", { key_name, key_value, ...more })).outcome();
const share = async (key_name: string, to: object, permission = "R") =>
  (await ann!.call("share", { key_name, usr_id_from: ANN, permission, ...to })).outcome();
const remove = async (...key_name: string[]): Promise<string[]> =>
  (await ann!.call("delete", { key_name })).json().trash.map(({ id }: { id: string }) => id);
const restore = (id: string | readonly string[], more: object = {}, caller = ann!) =>
  caller.call("trash_restore", { id, ...more });
const trash = async (caller = ann!) => (await caller.call("trash_list")).json().trash;
const names = async () => (await trash()).map(({ name }: { name: string }) => name);
const list = async (caller = ann!) => (await caller.call("list_no_dup")).json().secrets;
const upload = (filename: string, text: string) =>
  ann!.upload([{ filename, bytes: Buffer.from(text) }]);

const etagOf = async () => String((await bob!.call("list_no_dup")).headers.etag);
const waiting = (etag: string) =>
  bob!.call("list_no_dup", {}, { "if-none-match": etag, prefer: "wait=50" });

test("a deleted secret is gone for all users, and restored with versions, metadata and shares", async () => {
  await protect("db", "one", { metadata: { environment_type: "prod", team: { a: 1 } } });
  await protect("db", "two", { delete_time: 525_600 });
  await ann!.call("team_create", { group_id: "ops", members: [CID] });
  await share("db", { usr_id_to: BOB }, "RW");
  await share("db", { group_id_to: "ops" });
  const before = await Promise.all([ann, bob, cid].map((caller) => list(caller)));
  const versions = (await ann!.call("version_list_for_link", { key_name: "db" })).json();
  const etag = String((await bob!.call("list_no_dup")).headers.etag);

  const response = (await ann!.call("delete", { key_name: ["db"] })).json();
  expect(response).toEqual({ deleted: ["db"], trash: [{ id: expect.any(String), name: "db" }] });
  for (const caller of [ann!, bob!, cid!]) {
    expect(await list(caller)).toEqual([]);
    for (const operation of ["expose", "expose_link", "version_list", "delete"] as const)
      expect((await caller.call(operation, { key_name: "db" })).outcome()).toBe(
        "404 secret_not_found",
      );
    const link = { key_name: "db", key_value: "z" };
    expect((await caller.call("protect_link", link)).outcome()).toBe("404 secret_not_found");
  }
  expect((await ann!.call("share_list", { key_name: "db" })).status).toBe(404);
  const [{ id }] = response.trash;
  expect((await ann!.call("trash_list")).json()).toEqual({
    trash_days: 30,
    trash: [
      {
        id,
        kind: "secret",
        name: "db",
        version: 2,
        deleted_at: new Date(START).toISOString(),
        ends_at: new Date(START + 30 * DAY_MS).toISOString(),
      },
    ],
  });
  expect(await trash(bob)).toEqual([]);

  await clock.advance(1000);
  expect((await restore(id)).json()).toEqual({
    restored: [{ id, kind: "secret", name: "db", version: 2, shared: true }],
  });
  expect(await Promise.all([ann, bob, cid].map((caller) => list(caller)))).toEqual(before);
  expect((await ann!.call("version_list_for_link", { key_name: "db" })).json()).toEqual(versions);
  expect(
    (await cid!.call("version_expose_link", { key_name: "db", key_version: 1 })).json(),
  ).toMatchObject({ key_value: "one" });
  expect(
    (await bob!.call("protect_link", { key_name: "db", key_value: "three" })).json(),
  ).toMatchObject({ secret: { key_version: 3 } });
  expect((await bob!.call("list_no_dup", {}, { "if-none-match": etag })).status).toBe(200);
  expect(await trash()).toEqual([]);
});

test("waiting lists end when a secret is deleted and when it is restored", async () => {
  await protect("db");
  await share("db", { usr_id_to: BOB });
  const gone = waiting(await etagOf());
  await expect.poll(() => vault.metric("vaultsync_vault_waiting_lists")).toBe(1);
  const [id] = await remove("db");
  expect((await gone).json().secrets).toEqual([]);
  const back = waiting(await etagOf());
  await expect.poll(() => vault.metric("vaultsync_vault_waiting_lists")).toBe(1);
  await restore(id!);
  expect((await back).json().secrets).toHaveLength(1);
});

test("restoring several entries restores all or none, and each once", async () => {
  await protect("a");
  await protect("b");
  const ids = await remove("a", "b");
  expect((await restore([...ids, "unknown"])).outcome()).toBe("404 trash_entry_not_found");
  expect(await list()).toEqual([]);
  expect((await restore([...ids, ids[0]!])).json().restored).toHaveLength(2);
  expect((await restore(ids)).outcome()).toBe("404 trash_entry_not_found");
  expect(await list()).toHaveLength(2);
});

test("only its owner sees and changes a trash, with a token of unlimited scope", async () => {
  await protect("db");
  const [id] = await remove("db");
  for (const operation of ["trash_restore", "trash_delete"] as const)
    expect((await bob!.call(operation, { id })).outcome()).toBe("404 trash_entry_not_found");
  const narrow = await vault.client(ANN, scopeString({ environment_type: ["dev"] }));
  for (const operation of ["trash_list", "trash_empty", "trash_restore", "trash_delete"] as const)
    expect((await narrow.call(operation, { id })).outcome()).toBe("403 out_of_scope");
  expect((await bob!.call("trash_empty")).json()).toEqual({ deleted: 0 });
  expect(await trash()).toHaveLength(1);
});

describe("grants of a restored secret", () => {
  test("a share with a team that was deleted, or recreated by another user, is gone", async () => {
    await protect("db");
    await ann!.call("team_create", { group_id: "ops", members: [BOB] });
    await share("db", { group_id_to: "ops" });
    const [id] = await remove("db");
    await ann!.call("team_delete", { group_id: "ops" });
    await cid!.call("team_create", { group_id: "ops", members: [ANN, BOB] });
    expect((await restore(id!)).json().restored).toMatchObject([{ shared: false }]);
    expect(await list(cid)).toEqual([]);
    expect((await ann!.call("expose", { key_name: "db" })).status).toBe(200);
  });

  test("a secret in the trash neither invites nor counts as accepted or as received", async () => {
    await restart({ limits: { quotas: { ...defaultQuotas, unaccepted_secrets: 1 } } });
    await protect("first");
    await protect("second");
    await share("first", { usr_id_to: BOB });
    expect(await share("second", { usr_id_to: BOB })).toBe("403 quota_exceeded");
    const [id] = await remove("first");
    expect(await share("second", { usr_id_to: BOB })).toBe("200");
    // Bob has not accepted Ann, so only one secret of hers may be in his list.
    expect((await restore(id!)).json().restored).toMatchObject([{ name: "first", shared: false }]);
    expect(await list(bob)).toMatchObject([{ key_name: "second" }]);
    await bob!.call("protect", { key_name: "accepts", key_value: "x" });
    await bob!.call("share", {
      key_name: "accepts",
      usr_id_from: BOB,
      usr_id_to: ANN,
      permission: "R",
    });
    expect(await share("first", { usr_id_to: BOB })).toBe("200");
    await bob!.call("delete", { key_name: "accepts" });
    await protect("third");
    expect(await share("third", { usr_id_to: BOB })).toBe("403 quota_exceeded");
  });
});

test("a recipient who may not get a secret back takes it from no other one", async () => {
  await restart({ limits: { quotas: { ...defaultQuotas, unaccepted_secrets: 1 } } });
  await bob!.call("protect", { key_name: "accepts", key_value: "x" });
  const accepts = { usr_id_from: BOB, usr_id_to: ANN, permission: "R" };
  await bob!.call("share", { key_name: "accepts", ...accepts });
  await protect("first");
  await share("first", { usr_id_to: BOB });
  await share("first", { usr_id_to: CID });
  const [id] = await remove("first");
  await protect("second");
  expect(await share("second", { usr_id_to: CID })).toBe("200");
  expect((await restore(id!)).json().restored).toMatchObject([{ name: "first", shared: true }]);
  expect(await list(bob)).toContainEqual(expect.objectContaining({ key_name: "first" }));
  expect(await list(cid)).toMatchObject([{ key_name: "second" }]);
});

describe("the end of entries", () => {
  test("an entry ends after the days of the server, or at delete_time if that is earlier", async () => {
    await protect("long");
    await protect("short", "x", { delete_time: 60 });
    const [long, short] = await remove("long", "short");
    clock.stepWall(3_600_000);
    expect((await restore(short!)).outcome()).toBe("404 trash_entry_not_found");
    expect(await trash()).toMatchObject([{ name: "long" }]);
    const swept = async (metric: string): Promise<number> => {
      await clock.advance(10_000);
      return vault.metric(metric);
    };
    await expect.poll(() => swept("vaultsync_vault_secrets")).toBe(1);
    clock.stepWall(30 * DAY_MS);
    expect((await restore(long!)).outcome()).toBe("404 trash_entry_not_found");
    await expect.poll(() => swept("vaultsync_vault_secrets")).toBe(0);
    expect(await vault.metric("vaultsync_vault_stored_bytes")).toBe(0);
  });

  test("many ended secrets and files are removed in small transactions", async () => {
    const many = Array.from({ length: 45 }, (_, n) => `s${n}`);
    for (const name of many) await protect(name);
    for (const filename of ["f", "g"]) await upload(filename, "x".repeat(300_000));
    await remove(...many);
    expect((await ann!.call("delete_all_files")).json()).toEqual({ deleted: 2 });
    expect(await trash()).toHaveLength(47);
    const versions = async (): Promise<number> => {
      await clock.advance(10_000);
      return vault.metric("vaultsync_vault_versions");
    };
    await expect.poll(versions).toBe(47);
    clock.stepWall(31 * DAY_MS);
    await expect.poll(versions).toBe(0);
    expect(await trash()).toEqual([]);
  });

  test("an account over its quota of entries loses the oldest", async () => {
    await restart({ limits: { quotas: { ...defaultQuotas, trash: 2 } } });
    for (const name of ["a", "b", "c"]) {
      await protect(name);
      await clock.advance(1);
      await remove(name);
    }
    expect(await names()).toEqual(["c", "b"]);
    await upload("f", "x");
    await clock.advance(1);
    await ann!.call("delete_file", { filename: "f" });
    expect(await names()).toEqual(["f", "c"]);
  });

  test("trash_delete and trash_empty delete permanently", async () => {
    await protect("a");
    await protect("b");
    const [a, b] = await remove("a", "b");
    expect((await ann!.call("trash_delete", { id: [a, "unknown"] })).outcome()).toBe(
      "404 trash_entry_not_found",
    );
    expect((await ann!.call("trash_delete", { id: a })).json()).toEqual({
      deleted: [{ id: a, kind: "secret", name: "a" }],
    });
    expect((await restore(a!)).outcome()).toBe("404 trash_entry_not_found");
    expect((await ann!.call("trash_empty")).json()).toEqual({ deleted: 1 });
    expect((await restore(b!)).outcome()).toBe("404 trash_entry_not_found");
  });
});

describe("the quotas of an account", () => {
  const quotas = { ...defaultQuotas, secrets: 2, versions: 3, bytes: 3000, grants: 1 };

  test("are free for another secret or file after a deletion, as without a trash", async () => {
    await restart({ limits: { quotas } });
    for (const round of [1, 2, 3]) {
      expect(await protect("a", "x".repeat(1200))).toBe("200");
      expect(await protect("b", "x".repeat(1200))).toBe("200");
      expect(await protect("c"), `${round}`).toBe("403 quota_exceeded");
      expect(await share("a", { usr_id_to: BOB })).toBe("200");
      await remove("a", "b");
      expect((await upload("f", "x".repeat(2500))).outcome()).toBe("200");
      expect((await upload("g", "x".repeat(2500))).outcome()).toBe("403 quota_exceeded");
      await ann!.call("delete_file", { filename: "f" });
    }
  });

  test("limit a trash by themselves: the oldest entries end when it has more", async () => {
    await restart({ limits: { quotas } });
    for (const name of ["a", "b", "c"]) {
      await protect(name, "x".repeat(1200));
      await clock.advance(1);
      await remove(name);
    }
    expect(await names()).toEqual(["c", "b"]);
    await restart({ limits: { quotas } });
    for (const name of ["a", "b"]) {
      await protect(name);
      await share(name, { usr_id_to: BOB });
      await clock.advance(1);
      await remove(name);
    }
    expect(await names()).toEqual(["b"]);
  });

  test("reject a restore for which there is no space any more, and restore nothing", async () => {
    await restart({ limits: { quotas } });
    await protect("a", "x".repeat(1200));
    const ids = await remove("a");
    for (const name of ["b", "c"]) await protect(name, "x".repeat(1200));
    expect((await restore(ids)).outcome()).toBe("403 quota_exceeded");
    expect(await names()).toEqual(["a"]);
    await ann!.call("delete", { key_name: "c" });
    expect((await restore(ids)).outcome()).toBe("200");
  });
});

test("a permanent deletion bypasses the trash: of secrets, of a file, of its only version", async () => {
  await protect("db");
  const secret = await ann!.call("delete", { key_name: "db", permanently: true });
  expect(secret.json()).toEqual({ deleted: ["db"] });
  await upload("f", "x");
  const file = await ann!.call("delete_file", { filename: "f", permanently: true });
  expect(file.json()).toEqual({ deleted: { filename: "f", versions: [1] } });
  await upload("f", "x");
  await ann!.call("delete_file", { filename: "f", version: 1 });
  expect(await trash()).toEqual([]);
  expect((await ann!.call("list_file")).json().files).toEqual([]);
  await protect("db");
  expect(await list()).toMatchObject([{ key_version: 1 }]);
  const narrow = await ann!.call("delete", { key_name: "db", permanently: "yes" });
  expect(narrow.json().error.details).toMatchObject([{ path: "permanently" }]);
});

test("a server without a trash deletes immediately; entries from before stay until their end", async () => {
  await restart({ trashDays: 0 });
  await protect("db");
  expect((await ann!.call("delete", { key_name: "db" })).json()).toEqual({ deleted: ["db"] });
  await upload("f", "x");
  expect((await ann!.call("delete_file", { filename: "f" })).json()).toEqual({
    deleted: { filename: "f", versions: [1] },
  });
  expect((await ann!.call("trash_list")).json()).toEqual({ trash_days: 0, trash: [] });
});

test("a deleted file is gone, and restored with its versions; one version is deleted permanently", async () => {
  for (const text of ["one", "two", "three"]) await upload("f.txt", text);
  const before = (await ann!.call("list_file")).json();
  await ann!.call("delete_file", { filename: "f.txt", version: 2 });
  expect(await trash()).toEqual([]);
  const response = (await ann!.call("delete_file", { filename: "f.txt" })).json();
  const [{ id }] = response.trash;
  expect(response).toEqual({
    deleted: { filename: "f.txt", versions: [1, 3] },
    trash: [{ id, name: "f.txt" }],
  });
  expect((await ann!.call("list_file")).json()).toEqual({ files: [] });
  expect((await ann!.call("download_file", { filename: "f.txt" })).outcome()).toBe(
    "404 file_not_found",
  );
  expect(await trash()).toMatchObject([{ kind: "file", name: "f.txt", version: 3, size: 5 }]);
  expect((await restore(id)).json().restored).toEqual([
    { id, kind: "file", name: "f.txt", version: 3, shared: false },
  ]);
  const [file] = (await ann!.call("list_file")).json().files;
  expect(file).toMatchObject({ ...before.files[0], versions: [{ version: 1 }, { version: 3 }] });
  const old = await ann!.call("download_file", { filename: "f.txt", version: 1 });
  expect(old.bytes.toString()).toBe("one");
});

test("the audit log names what was restored and what was deleted permanently", async () => {
  const file = directory.join("audit.jsonl");
  await restart({ auditLog: { file } });
  await protect("a");
  await protect("b");
  const ids = await remove("a", "b");
  await restore(ids[0]!, { name: "c" });
  await ann!.call("trash_delete", { id: ids[1] });
  const lines = (await readFile(file, "utf8"))
    .split("\n")
    .filter((line) => line.includes('"phase":"end"') && line.includes('"operation":"trash_'))
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { operation: "trash_restore", who: ANN, status: 200, result: { names: ["c"] } },
    { operation: "trash_delete", who: ANN, status: 200, result: { names: ["b"] } },
  ]);
});
