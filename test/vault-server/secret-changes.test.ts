import { describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { scopeString, sendRequest, type VaultClient } from "../lab/vault/vault-client.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { listNames } from "../lab/vault/requests.ts";

let freshNumber = 0;
const clock = new VirtualClock();
const { vault, ann, bob } = await useVault({ clock });

/** A secret of Ann's with these values as its versions, and what the call says of it more. */
async function fresh(values: readonly string[] = ["v"], more: object = {}): Promise<string> {
  const name = `changing-${(freshNumber += 1)}`;
  for (const value of values)
    await ann.call("protect", { key_name: name, key_value: value, ...more });
  return name;
}
const scoped = (narrowed: Record<string, string[]>) =>
  vault.client("ann@example.com", scopeString(narrowed), 1e6);
const shareWithBob = (name: string, permission: string) =>
  ann.call("share", { key_name: name, permission, usr_id_from: ann.email, usr_id_to: bob.email });
const versionNumbers = async (
  name: string,
  operation: "version_list" | "version_list_for_link" = "version_list",
) =>
  (await ann.call(operation, { key_name: name }))
    .json()
    .versions?.map((record: { key_version: number }) => record.key_version);
const exposed = async (name: string) => (await ann.call("expose", { key_name: name })).json();

const removeVersion = (caller: VaultClient, name: string, version: unknown) =>
  caller.call("version_delete", { key_name: name, key_version: version });
const update = (caller: VaultClient, name: string, body: object) =>
  caller.call("update_key_metadata", { key_name: name, key_version: 1, ...body });
const remove = (caller: VaultClient, keyName: unknown) =>
  caller.call("delete", { key_name: keyName });

const numbered = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`name-${index}`, 1]));

describe("version_delete", () => {
  test("responds not found for unknown names and versions, and keeps the only version", async () => {
    const name = await fresh();
    expect((await removeVersion(ann, "nowhere", 1)).outcome()).toBe("404 secret_not_found");
    expect((await removeVersion(bob, name, 1)).outcome()).toBe("404 secret_not_found");
    expect((await removeVersion(ann, name, 2)).outcome()).toBe("404 version_not_found");
    expect((await removeVersion(ann, name, 1)).outcome()).toBe("409 last_version");
    expect((await exposed(name)).key_value).toBe("v");
  });

  test.each([undefined, null, "1", 0, 1.5])("rejects the version %j", async (version) => {
    expect((await removeVersion(ann, await fresh(["1", "2"]), version)).outcome()).toBe(
      "400 invalid_request",
    );
  });

  test("deletes an older version; the others keep their numbers and values", async () => {
    const name = await fresh(["one", "two", "three"]);
    const response = await removeVersion(ann, name, 2);
    expect(response.outcome()).toBe("200");
    expect(response.json()).toEqual({ deleted: { key_name: name, key_version: 2 } });
    expect(await versionNumbers(name)).toEqual([1, 3]);
    expect((await ann.call("version_expose", { key_name: name, key_version: 2 })).outcome()).toBe(
      "404 version_not_found",
    );
    expect(
      (await ann.call("version_expose", { key_name: name, key_version: 1 })).json().key_value,
    ).toBe("one");
  });

  test("deleting the latest version makes the next lower one the latest; its number is not reused", async () => {
    const name = await fresh(["one", "two", "three"]);
    await removeVersion(ann, name, 2);
    await removeVersion(ann, name, 3);
    expect(await exposed(name)).toMatchObject({ key_value: "one", key_version: 1 });
    const again = await ann.call("protect", { key_name: name, key_value: "four" });
    expect(again.json().secret.key_version).toBe(4);
    expect(await versionNumbers(name)).toEqual([1, 4]);
  });

  test("is allowed for the creator only, for shared and unshared secrets", async () => {
    const name = await fresh(["one", "two"]);
    await shareWithBob(name, "RW");
    expect((await removeVersion(bob, name, 1)).outcome()).toBe("403 forbidden");
    expect(await versionNumbers(name, "version_list_for_link")).toEqual([1, 2]);
    expect((await removeVersion(ann, name, 1)).outcome()).toBe("200");
    expect(await versionNumbers(name, "version_list_for_link")).toEqual([2]);
  });

  test("is out_of_scope when the secret is outside the scope before or after the deletion", async () => {
    const name = await fresh(["one"], { metadata: { cloud_type: "before" } });
    await ann.call("protect", {
      key_name: name,
      key_value: "two",
      metadata: { cloud_type: "after" },
    });
    for (const cloud of ["before", "after"]) {
      const response = await removeVersion(await scoped({ cloud_type: [cloud] }), name, 2);
      expect(response.outcome(), cloud).toBe("403 out_of_scope");
    }
    expect(await versionNumbers(name)).toEqual([1, 2]);
    expect((await removeVersion(await scoped({ cloud_type: ["after"] }), name, 1)).outcome()).toBe(
      "200",
    );
  });
});

describe("update_key_metadata", () => {
  test.each([
    {},
    { metadata: null },
    { metadata: "x" },
    { metadata: { expiration_time: "10" } },
    { metadata: { cloud_type: 1 } },
    { expiration_time: -1 },
    { metadata: {}, key_version: "1" },
    { metadata: {}, key_version: undefined },
    { metadata: {}, owner: 1 },
  ])("rejects a body with %j", async (body) => {
    expect((await update(ann, await fresh(), body)).outcome()).toBe("400 invalid_request");
  });

  test("responds not found for unknown names and versions", async () => {
    const name = await fresh();
    expect((await update(ann, "nowhere", { metadata: {} })).outcome()).toBe("404 secret_not_found");
    expect((await update(bob, name, { metadata: {} })).outcome()).toBe("404 secret_not_found");
    expect((await update(bob, name, { metadata: {}, owner: ann.email })).outcome()).toBe(
      "404 secret_not_found",
    );
    expect((await update(ann, name, { metadata: {}, key_version: 2 })).outcome()).toBe(
      "404 version_not_found",
    );
  });

  test("changes only the given names of that version; value and version number are unchanged", async () => {
    const name = await fresh(["one", "two"], { metadata: { team: { on: [1] }, note: "kept" } });
    const before = (await ann.call("version_list", { key_name: name })).json().versions;
    clock.stepWall(5000);
    const response = await update(ann, name, {
      metadata: { classification: "low", team: null, added: [{}], expiration_time: 20 },
    });
    const changed = {
      ...before[0],
      metadata: {
        ...before[0].metadata,
        classification: "low",
        team: null,
        added: [{}],
        expiration_time: 20,
      },
      updated_at: new Date(clock.now()).toISOString(),
      expires_at: new Date(Date.parse(before[0].created_at) + 20 * 86_400_000).toISOString(),
    };
    expect(response.outcome()).toBe("200");
    expect(response.json()).toEqual({ secret: changed });
    expect((await ann.call("version_list", { key_name: name })).json().versions).toEqual([
      changed,
      before[1],
    ]);
    expect(await exposed(name)).toMatchObject({ key_value: "two", key_version: 2 });
  });

  test("accepts enviroment_type and top-level names with the same precedence as protect", async () => {
    const name = await fresh();
    const environment = async (body: object) =>
      (await update(ann, name, body)).json().secret.metadata.environment_type;
    expect(await environment({ enviroment_type: "a" })).toBe("a");
    expect(await environment({ metadata: { enviroment_type: "b" } })).toBe("b");
    expect(
      await environment({ metadata: { enviroment_type: "wrong", environment_type: "c" } }),
    ).toBe("c");
    expect(await environment({ environment_type: "top", metadata: { enviroment_type: "d" } })).toBe(
      "d",
    );
    expect(
      (await update(ann, name, { expiration_time: 3 })).json().secret.metadata,
    ).not.toHaveProperty("enviroment_type");
  });

  test("treats __proto__ as a plain metadata name", async () => {
    const name = await fresh();
    const headers = { "content-type": "application/json", authorization: ann.token };
    const body = `{"email":"${ann.email}","key_name":"${name}","key_version":1,"metadata":{"__proto__":{"polluted":1}}}`;
    expect(
      (
        await sendRequest(`${vault.url}/v1/user/secret/update_key_metadata`, { headers, body })
      ).outcome(),
    ).toBe("200");
    expect((await ann.call("expose", { key_name: name })).bytes.toString()).toContain(
      `"__proto__":{"polluted":1}`,
    );
  });

  test("metadata of at most 64 KiB and 100 names is stored, more changes nothing", async () => {
    const name = await fresh();
    await shareWithBob(name, "W");
    const stored = async () =>
      (await ann.call("version_list_for_link", { key_name: name })).json().versions[0].metadata;
    const free = 65_536 - Buffer.byteLength(JSON.stringify({ ...(await stored()), note: "" }));
    const full = `\u00e9${"x".repeat(free - 2)}`;
    expect((await update(bob, name, { metadata: { note: `${full}x` } })).outcome()).toBe(
      "413 too_large",
    );
    expect((await update(bob, name, { metadata: { note: full } })).outcome()).toBe("200");
    expect((await update(bob, name, { metadata: { other: "" } })).outcome()).toBe("413 too_large");
    expect((await update(bob, name, { description: "n/a, longer" })).outcome()).toBe(
      "413 too_large",
    );
    expect(await stored()).toMatchObject({ note: full, description: "n/a" });
    await update(bob, name, { metadata: { note: "short" } });
    expect((await update(bob, name, { metadata: numbered(94) })).outcome()).toBe(
      "400 invalid_request",
    );
    expect(Object.keys(await stored())).toHaveLength(7);
    expect((await update(bob, name, { metadata: numbered(93) })).outcome()).toBe("200");
    expect((await update(bob, name, { metadata: { name: 1 } })).outcome()).toBe(
      "400 invalid_request",
    );
    expect(Object.keys(await stored())).toHaveLength(100);
  });

  test("protect creates no secret and no version when metadata is too large or has too many names", async () => {
    const name = await fresh();
    for (const [metadata, outcome] of [
      [{ note: "x".repeat(65_536) }, "413 too_large"],
      [numbered(95), "400 invalid_request"],
    ] as const) {
      for (const key_name of [name, `${name} new`]) {
        expect(
          (await ann.call("protect", { key_name, key_value: "next", metadata })).outcome(),
        ).toBe(outcome);
      }
    }
    expect(await versionNumbers(name)).toEqual([1]);
    expect(await listNames(ann)).not.toContain(`${name} new`);
  });

  test("requires W; a grantee with W can change a shared secret and set its owner", async () => {
    const name = await fresh();
    await shareWithBob(name, "R");
    expect((await update(bob, name, { metadata: { note: 1 } })).outcome()).toBe("403 forbidden");
    for (const permission of ["W", "RW"]) {
      await shareWithBob(name, permission);
      const response = await update(bob, name, {
        metadata: { note: permission },
        owner: "ANN@example.com",
      });
      expect(response.json().secret).toMatchObject({
        owner: ann.email,
        shared: true,
        permission,
        metadata: { note: permission },
      });
    }
    expect((await update(ann, name, { metadata: { note: "ann's" } })).json().secret).toMatchObject({
      permission: "RW",
    });
  });

  test("changes the caller's own secret when received ones have the same name", async () => {
    const name = await fresh();
    await shareWithBob(name, "W");
    await bob.call("protect", { key_name: name, key_value: "bob's" });
    const own = await update(bob, name, { metadata: { note: 1 } });
    expect(own.json().secret).toMatchObject({
      owner: bob.email,
      shared: false,
      metadata: { note: 1 },
    });
    for (const owner of [ann.email, bob.email]) {
      const response = await update(bob, name, { metadata: { note: owner }, owner });
      expect(response.json().secret).toMatchObject({ owner, metadata: { note: owner } });
    }
  });

  test("changes immediately which scopes include the secret, and never moves it out of scope", async () => {
    const name = await fresh(["one", "two"], { metadata: { cloud_type: "mine" } });
    const mine = await scoped({ cloud_type: ["mine"] });
    const move = (caller: VaultClient, version: number, cloud: string) =>
      update(caller, name, { key_version: version, metadata: { cloud_type: cloud } });
    expect((await move(mine, 2, "other")).outcome()).toBe("403 out_of_scope");
    expect((await move(mine, 1, "other")).outcome()).toBe("200");
    expect(await listNames(mine)).toContain(name);
    await move(ann, 2, "other");
    expect(await listNames(mine)).not.toContain(name);
    expect((await move(mine, 2, "mine")).outcome()).toBe("403 out_of_scope");
  });
});

describe("delete", () => {
  test.each([
    undefined,
    null,
    [],
    [""],
    [1],
    7,
    ["a", ["b"]],
    Array.from({ length: 10_001 }, (_, i) => `n${i}`),
  ])("rejects key_name %j", async (key_name) => {
    expect((await remove(ann, key_name)).outcome()).toBe("400 invalid_request");
  });

  test("deletes nothing when one name is unknown, foreign or out of scope, and names its index", async () => {
    const [kept, foreign] = [await fresh(), `bobs-${freshNumber}`];
    await bob.call("protect", { key_name: foreign, key_value: "v" });
    const unknown = await remove(ann, [kept, "nowhere"]);
    expect(unknown.outcome()).toBe("404 secret_not_found");
    expect(unknown.json().error.details).toEqual([
      { path: "key_name.1", reason: expect.any(String) },
    ]);
    expect((await remove(ann, [kept, foreign])).outcome()).toBe("404 secret_not_found");
    await bob.call("share", {
      key_name: foreign,
      permission: "RW",
      usr_id_from: bob.email,
      usr_id_to: [ann.email],
    });
    expect((await remove(ann, [kept, foreign])).outcome()).toBe("403 forbidden");
    const narrow = await scoped({ secret_name: [kept] });
    expect((await remove(narrow, [kept, await fresh()])).outcome()).toBe("403 out_of_scope");
    expect((await remove(narrow, foreign)).outcome()).toBe("403 out_of_scope");
    // One's own secret is meant where there is one: a received one of the name, in scope, changes
    // nothing.
    await ann.call("protect", {
      key_name: foreign,
      key_value: "ann's",
      metadata: { cloud_type: "own" },
    });
    expect((await remove(await scoped({ cloud_type: ["aws"] }), foreign)).outcome()).toBe(
      "403 out_of_scope",
    );
    expect(await listNames(ann)).toEqual(expect.arrayContaining([kept, foreign]));
  });

  test("accepts a string or an array, ignores duplicates, and names restart at version 1", async () => {
    const [one, two, three] = [await fresh(["1", "2"]), await fresh(), await fresh()];
    expect((await remove(ann, one)).json()).toEqual({ deleted: [one] });
    expect((await remove(ann, [three, two, three])).json()).toEqual({ deleted: [three, two] });
    for (const name of [one, two, three]) {
      expect((await ann.call("expose", { key_name: name })).outcome()).toBe("404 secret_not_found");
      expect(
        (await ann.call("protect", { key_name: name, key_value: "new" })).json().secret.key_version,
      ).toBe(1);
      expect(await versionNumbers(name)).toEqual([1]);
    }
  });

  test("deletes a shared secret for all users; a new secret of the name is unshared", async () => {
    const name = await fresh();
    await shareWithBob(name, "RW");
    expect((await remove(bob, name)).outcome()).toBe("403 forbidden");
    expect((await remove(ann, name)).outcome()).toBe("200");
    expect((await bob.call("expose_link", { key_name: name })).outcome()).toBe(
      "404 secret_not_found",
    );
    const again = await ann.call("protect", { key_name: name, key_value: "new" });
    expect(again.json().secret).toMatchObject({ shared: false, key_version: 1 });
    expect(await listNames(bob)).not.toContain(name);
  });
});

test("scopeAttributesBy creator reserves what scopes match and the expiry for the creator", async () => {
  await using other = await TestVault.start({ scopeAttributesBy: "creator" });
  const [creator, writer] = [await other.client(ann.email), await other.client(bob.email)];
  await creator.call("protect", { key_name: "top", key_value: "v" });
  await creator.call("share", {
    key_name: "top",
    permission: "RW",
    usr_id_from: creator.email,
    usr_id_to: writer.email,
  });
  for (const name of ["classification", "cloud_type", "enviroment_type", "application_type"]) {
    for (const caller of [writer, creator]) {
      const response = await update(caller, "top", { metadata: { [name]: "low" } });
      expect(response.outcome(), name).toEqual(caller === creator ? "200" : "403 forbidden");
    }
  }
  expect((await update(writer, "top", { expiration_time: 0 })).outcome()).toBe("403 forbidden");
  expect(
    (await update(writer, "top", { metadata: { note: "mine", description: "d" } })).outcome(),
  ).toBe("200");
});
