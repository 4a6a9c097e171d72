import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, type VaultClient } from "../lab/vault/vault-client.ts";

const [ANN, BOB, CID] = ["ann@example.com", "bob@example.com", "cid@example.com"];
let clock: VirtualClock;
let vault: TestVault;
let [ann, bob, cid]: VaultClient[] = [];
beforeEach(async () => {
  clock = new VirtualClock();
  vault = await TestVault.start({ trashDays: 30, clock, emails: [ANN, BOB, CID] });
  [ann, bob, cid] = [await vault.client(ANN), await vault.client(BOB), await vault.client(CID)];
});
afterEach(() => vault[Symbol.asyncDispose]());

/** Stores a value; returns its version. */
const protect = async (key_name: string, key_value = "x", more: object = {}): Promise<number> =>
  (await ann!.call("protect", { key_name, key_value, ...more })).json().secret.key_version;
const remove = async (key_name: string): Promise<string> =>
  (await ann!.call("delete", { key_name })).json().trash[0].id;
const restore = (id: string, more: object = {}) => ann!.call("trash_restore", { id, ...more });
const restored = async (id: string) => (await restore(id)).json().restored[0].version;
const value = async (key_name: string, caller = ann!): Promise<unknown> => {
  const { key_value, key_version } = (await caller.call("expose", { key_name })).json();
  return [key_version, key_value];
};
const upload = async (text: string): Promise<number> =>
  (await ann!.upload([{ filename: "f", bytes: Buffer.from(text) }])).json().files[0].version;
const download = async (version?: number): Promise<string> => {
  const response = await ann!.call("download_file", { filename: "f", version });
  return `${String(response.headers["x-file-version"])} ${response.bytes.toString()}`;
};
const share = (key_name: string, to: object) =>
  ann!.call("share", { key_name, usr_id_from: ANN, permission: "RW", ...to });

const rename = (key_name: string, new_name: string, more: object = {}, caller = ann!) =>
  caller.call("rename", { key_name, new_name, ...more });

describe("a name that was used again", () => {
  test("starts at version 1, as without a trash", async () => {
    await protect("db", "one");
    await protect("db", "two");
    await remove("db");
    expect(await protect("db", "new", { expected_version: 0 })).toBe(1);
  });

  test("cannot be restored; under another name the secret is, with versions and shares", async () => {
    await protect("db", "one");
    await protect("db", "two", { metadata: { environment_type: "prod" } });
    await ann!.call("team_create", { group_id: "ops", members: [CID] });
    await share("db", { usr_id_to: BOB });
    await share("db", { group_id_to: "ops" });
    const id = await remove("db");
    await protect("db", "new");
    expect((await restore(id)).outcome()).toBe("409 name_taken");
    expect((await restore(id, { name: "db" })).outcome()).toBe("409 name_taken");
    expect((await restore(id, { name: "old/db" })).json()).toEqual({
      restored: [{ id, kind: "secret", name: "old/db", version: 2, shared: true }],
    });
    for (const caller of [ann!, bob!, cid!]) {
      const old = await caller.call("version_expose_link", { key_name: "old/db", key_version: 1 });
      expect(old.json()).toMatchObject({ key_value: "one", owner: ANN });
    }
    const write = { key_name: "old/db", key_value: "three" };
    expect((await bob!.call("protect_link", write)).json().secret.key_version).toBe(3);
    expect(await value("db")).toEqual([1, "new"]);
  });

  test("is restored with the numbers of each secret that had it", async () => {
    await protect("db", "one", { metadata: { expiration_time: 90 } });
    const before = (await ann!.call("list_no_dup")).json().secrets;
    const first = await remove("db");
    expect(await protect("db", "two")).toBe(1);
    expect(await protect("db", "three")).toBe(2);
    const second = await remove("db");
    await clock.advance(60_000);
    expect(await restored(first)).toBe(1);
    expect(await value("db")).toEqual([1, "one"]);
    expect((await ann!.call("list_no_dup")).json().secrets).toEqual(before);
    expect(await remove("db")).toBe(first);
    expect(await restored(second)).toBe(2);
    expect(await value("db")).toEqual([2, "three"]);
  });

  test.each(["trash_delete", "delete_time", "rename"] as const)(
    "is free for the first secret after %s of the second one",
    async (end) => {
      await protect("db", "one");
      const first = await remove("db");
      await protect("db", "two", { delete_time: 1 });
      if (end === "trash_delete") await ann!.call(end, { id: await remove("db") });
      if (end === "rename") await ann!.call(end, { key_name: "db", new_name: "other" });
      if (end === "delete_time") clock.stepWall(60_000);
      expect(await restored(first)).toBe(1);
      expect(await value("db")).toEqual([1, "one"]);
    },
  );

  test.each(["..", ".", "../f", "dir/", "a\\b"])(
    "is not restored as the file %j that no upload can have",
    async (name) => {
      await upload("one");
      const [{ id }] = (await ann!.call("delete_file", { filename: "f" })).json().trash;
      const response = await restore(id, { name });
      expect(response.outcome()).toBe("400 invalid_request");
      expect(response.json().error.details).toMatchObject([{ path: "name" }]);
      expect(await restored(id)).toBe(1);
    },
  );

  test("counts a deleted latest version: a restored secret keeps its numbers", async () => {
    await protect("db", "one");
    await protect("db", "two");
    await ann!.call("version_delete", { key_name: "db", key_version: 2 });
    expect(await restored(await remove("db"))).toBe(1);
    expect(await protect("db", "three")).toBe(3);
  });

  test("of a file starts again as well", async () => {
    await upload("one");
    const first = (await ann!.call("delete_file", { filename: "f" })).json().trash[0].id;
    expect(await upload("two")).toBe(1);
    expect((await restore(first)).outcome()).toBe("409 name_taken");
    expect((await restore(first, { name: "g" })).json().restored).toMatchObject([{ version: 1 }]);
    const other = await ann!.call("download_file", { filename: "g" });
    expect(other.bytes.toString()).toBe("one");
    const second = (await ann!.call("delete_file", { filename: "f" })).json().trash[0].id;
    expect(await upload("three")).toBe(1);
    await ann!.call("delete_file", { filename: "f" });
    expect(await restored(second)).toBe(1);
    expect(await download()).toBe("1 two");
    expect(await upload("five")).toBe(2);
  });
});

describe("rename", () => {
  test("keeps versions, metadata, deadline and shares under the new name", async () => {
    await protect("db", "one", { metadata: { team: "a" } });
    await protect("db", "two", { delete_time: 600 });
    await ann!.call("team_create", { group_id: "ops", members: [CID] });
    await share("db", { usr_id_to: BOB });
    await share("db", { group_id_to: "ops" });
    const [before] = (await ann!.call("list_no_dup")).json().secrets;
    const { versions } = (await ann!.call("version_list_for_link", { key_name: "db" })).json();
    await clock.advance(1000);
    const { secret } = (await rename("db", "prod/db", { expected_version: 2 })).json();
    expect(secret).toEqual({ ...before, key_name: "prod/db" });
    for (const caller of [ann!, bob!, cid!]) {
      expect((await caller.call("expose_link", { key_name: "db" })).outcome()).toBe(
        "404 secret_not_found",
      );
      const old = { key_name: "prod/db", key_version: 1 };
      expect((await caller.call("version_expose_link", old)).json().key_value).toBe("one");
    }
    const renamed = (await ann!.call("version_list_for_link", { key_name: "prod/db" })).json();
    expect(renamed.versions).toEqual(
      versions.map((version: object) => ({ ...version, key_name: "prod/db" })),
    );
    expect(await protect("db", "other")).toBe(1);
  });

  test("changes nothing when the name is taken or another version is the latest", async () => {
    await protect("a");
    await protect("b");
    expect((await rename("a", "b")).outcome()).toBe("409 name_taken");
    expect((await rename("a", "c", { expected_version: 2 })).outcome()).toBe("409 version_changed");
    expect((await rename("none", "c")).outcome()).toBe("404 secret_not_found");
    expect((await rename("a", "a")).json().secret).toMatchObject({ key_name: "a" });
    expect(await value("a")).toEqual([1, "x"]);
  });

  test("takes a name whose secret is past its deadline, and one in the trash", async () => {
    await protect("due", "x", { delete_time: 1 });
    clock.stepWall(60_000);
    await protect("a", "of a");
    expect((await rename("a", "due")).outcome()).toBe("200");
    await protect("b", "of b");
    await protect("b", "of b, later");
    await remove("b");
    expect((await rename("due", "b")).json().secret).toMatchObject({ key_version: 1 });
    expect(await value("b")).toEqual([1, "of a"]);
  });

  test("is the creator's, within the scope of the token before and after", async () => {
    await protect("prod/a");
    await share("prod/a", { usr_id_to: BOB });
    expect((await rename("prod/a", "b", {}, bob)).outcome()).toBe("403 forbidden");
    const narrow = await vault.client(ANN, scopeString({ secret_name: ["prod/a", "prod/b"] }));
    expect((await rename("prod/a", "c", {}, narrow)).outcome()).toBe("403 out_of_scope");
    expect((await rename("prod/a", "prod/b", {}, narrow)).outcome()).toBe("200");
  });

  test("rejects a secret with too many versions to seal in one transaction", async () => {
    await using quick = await TestVault.start({
      limits: { requestsPerSecond: 1e6, requestBurst: 1e6 },
    });
    const caller = await quick.client(ANN);
    for (let version = 1; version <= 1001; version += 1)
      await caller.call("protect", { key_name: "many", key_value: "x" });
    expect((await rename("many", "other", {}, caller)).outcome()).toBe("413 too_large");
    for (const key_version of [1, 2])
      await caller.call("version_delete", { key_name: "many", key_version });
    // A dismissal by a member of a team has no seal: no member makes the secret larger with it.
    const member = await quick.client(BOB);
    await caller.call("team_create", { group_id: "t", members: [BOB] });
    const shared = { key_name: "many", usr_id_from: ANN, group_id_to: "t", permission: "R" };
    expect((await caller.call("share", shared)).outcome()).toBe("200");
    const dismissed = { key_name: "many", owner: ANN };
    expect((await member.call("delete_shared_key_link", dismissed)).outcome()).toBe("200");
    expect((await rename("many", "other", {}, caller)).outcome()).toBe("200");
  });
});
