import { describe, expect, test } from "vitest";
import { nameSequence } from "../lab/vault/requests.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

const freshName = nameSequence("expected");
const { ann, bob } = await useVault();

/** Creates a secret of Ann with two versions. */
async function secretWithTwoVersions(): Promise<string> {
  const name = freshName();
  for (const key_value of ["one", "two"]) await ann.call("protect", { key_name: name, key_value });
  return name;
}

async function versionsOf(
  caller: VaultClient,
  name: string,
): Promise<{ key_version: number; created_by?: string }[]> {
  const own = await caller.call("version_list", { key_name: name });
  return (
    own.status === 200 ? own : await caller.call("version_list_for_link", { key_name: name })
  ).json().versions;
}

const shareWithBob = (name: string) =>
  ann.call("share", {
    key_name: name,
    permission: "RW",
    usr_id_from: ann.email,
    usr_id_to: bob.email,
  });

const update = (caller: VaultClient, name: string, body: object) =>
  caller.call("update_key_metadata", { key_name: name, key_version: 2, ...body });

describe("expected_version of protect", () => {
  test("adds a version to the latest one only", async () => {
    const name = await secretWithTwoVersions();
    const add = async (expected_version: number) =>
      ann.call("protect", { key_name: name, key_value: "new", expected_version });
    for (const expected of [0, 1, 3]) {
      const response = await add(expected);
      expect(response.outcome()).toBe("409 version_changed");
      expect(response.json().error.details).toEqual([
        { path: "expected_version", reason: "the latest version is 2" },
      ]);
    }
    expect((await add(2)).json().secret.key_version).toBe(3);
    expect(await versionsOf(ann, name)).toHaveLength(3);
  });

  test("creates a secret only with 0, also after another one of the name was deleted", async () => {
    const name = await secretWithTwoVersions();
    await ann.call("delete", { key_name: name });
    const protect = (expected_version: number) =>
      ann.call("protect", { key_name: name, key_value: "v", expected_version });
    expect((await protect(2)).outcome()).toBe("404 secret_not_found");
    expect((await protect(0)).outcome()).toBe("200");
    expect((await protect(0)).outcome()).toBe("409 version_changed");
  });

  test.each([-1, 1.5, "1", null])("is not %j", async (expected_version) => {
    const response = await ann.call("protect", {
      key_name: freshName(),
      key_value: "v",
      expected_version,
    });
    expect(response.outcome()).toBe("400 invalid_request");
  });
});

test("expected_version of protect_link adds a version to the latest one only", async () => {
  const name = await secretWithTwoVersions();
  await shareWithBob(name);
  const add = (expected_version: number) =>
    bob.call("protect_link", {
      key_name: name,
      key_value: "bob's",
      expected_version,
      without_list: 1,
    });
  expect((await add(1)).outcome()).toBe("409 version_changed");
  expect((await add(2)).outcome()).toBe("200");
  const authors = (await versionsOf(ann, name)).map(({ key_version, created_by }) => [
    key_version,
    created_by,
  ]);
  expect(authors).toEqual([
    [1, ann.email],
    [2, ann.email],
    [3, bob.email],
  ]);
  expect(await versionsOf(bob, name)).toMatchObject([
    { created_by: ann.email },
    {},
    { created_by: bob.email },
  ]);
});

test("expected_version of version_delete keeps the versions of a recreated secret", async () => {
  const name = await secretWithTwoVersions();
  await ann.call("protect", { key_name: name, key_value: "three" });
  await ann.call("delete", { key_name: name });
  for (const key_value of ["new one", "new two"])
    await ann.call("protect", { key_name: name, key_value });
  const remove = (expected_version: number) =>
    ann.call("version_delete", { key_name: name, key_version: 1, expected_version });
  expect((await remove(3)).outcome()).toBe("409 version_changed");
  expect(await versionsOf(ann, name)).toHaveLength(2);
  expect((await remove(2)).outcome()).toBe("200");
  expect(await versionsOf(ann, name)).toMatchObject([{ key_version: 2 }]);
});

test("expected_versions of delete keep all secrets when one of them was recreated", async () => {
  // Given two secrets of two versions, of which one is recreated with one version.
  const [kept, recreated] = [await secretWithTwoVersions(), await secretWithTwoVersions()];
  await ann.call("delete", { key_name: recreated });
  await ann.call("protect", { key_name: recreated, key_value: "new" });
  const remove = (...expected_versions: number[]) =>
    ann.call("delete", { key_name: [kept, recreated], permanently: true, expected_versions });
  // When the caller deletes both in the versions that it knows.
  const response = await remove(2, 2);
  // Then both are kept, until the caller knows the versions.
  expect(response.outcome()).toBe("409 version_changed");
  expect(response.json().error.details).toMatchObject([{ path: "key_name.1" }]);
  expect(await versionsOf(ann, kept)).toHaveLength(2);
  for (const versions of [[2], [2, 1, 1]])
    expect((await remove(...versions)).outcome()).toBe("400 invalid_request");
  expect((await remove(2, 1)).outcome()).toBe("200");
});

describe("update_key_metadata", () => {
  test("changes nothing when expected_version is no longer the latest", async () => {
    const name = await secretWithTwoVersions();
    await ann.call("protect", {
      key_name: name,
      key_value: "three",
      metadata: { description: "new" },
    });
    const stale = await update(ann, name, {
      expected_version: 2,
      metadata: { description: "old" },
    });
    expect(stale.outcome()).toBe("409 version_changed");
    expect(await versionsOf(ann, name)).toMatchObject([
      {},
      { metadata: { description: "n/a" } },
      {},
    ]);
    const current = await update(ann, name, {
      key_version: 3,
      expected_version: 3,
      metadata: { description: "newer" },
    });
    expect(current.json().secret.metadata).toMatchObject({ description: "newer" });
  });

  test("removes custom names, and no standard one", async () => {
    const name = await secretWithTwoVersions();
    await update(ann, name, { metadata: { team: "blue", count: 3 } });
    const { secret } = (
      await update(ann, name, { remove_metadata: ["team", "absent"], metadata: { more: 1 } })
    ).json();
    expect(Object.keys(secret.metadata)).not.toContain("team");
    expect(secret.metadata).toMatchObject({ count: 3, more: 1, environment_type: "dev" });
    for (const standard of ["expiration_time", "enviroment_type"])
      expect((await update(ann, name, { remove_metadata: standard })).outcome()).toBe(
        "400 invalid_request",
      );
  });

  test("changes the removal time for the creator only", async () => {
    const name = await secretWithTwoVersions();
    await shareWithBob(name);
    expect((await update(bob, name, { delete_time: 60 })).outcome()).toBe("403 forbidden");
    const { secret } = (await update(ann, name, { delete_time: 60 })).json();
    expect(secret.delete_time).toBe(60);
    expect(Date.parse(secret.delete_at) - Date.parse(secret.updated_at)).toBe(3_600_000);
    const listed = (await bob.call("list_no_dup"))
      .json()
      .secrets.find((each: { key_name: string }) => each.key_name === name);
    expect(listed.delete_at).toBe(secret.delete_at);
  });
});
