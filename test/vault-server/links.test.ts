import { beforeEach, describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, type VaultClient } from "../lab/vault/vault-client.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { unsharedReads } from "../lab/vault/requests.ts";
import type { Operation } from "../../src/protocol/operation-paths.ts";

let name: string;
let freshNumber = 0;
const { vault, ann, bob, cid } = await useVault();
beforeEach(() => {
  name = `linked-${(freshNumber += 1)}`;
});

const share = (from: VaultClient, to: VaultClient, permission: string) =>
  from.call("share", {
    key_name: name,
    permission,
    usr_id_from: from.email,
    usr_id_to: [to.email],
  });
const protect = (caller: VaultClient, value: string, more = {}) =>
  caller.call("protect", { key_name: name, key_value: value, ...more });

const linkReads = [
  ["expose_link", {}],
  ["version_expose_link", { key_version: 1 }],
  ["version_list_for_link", {}],
] as const;
const linkOperations = [...linkReads, ["protect_link", { key_value: "new" }]] as const;
const unsharedOperations = [...unsharedReads, ["protect", { key_value: "new" }]] as const;

/**
 * Calls each operation on the secret. Returns the operations with another outcome than `expected`.
 */
async function deviations(
  expected: string,
  caller: VaultClient,
  operations: readonly (readonly [Operation, object])[],
  more: object = {},
): Promise<string[]> {
  const deviating: string[] = [];
  for (const [operation, body] of operations) {
    const outcome = (await caller.call(operation, { key_name: name, ...body, ...more })).outcome();
    if (outcome !== expected) deviating.push(`${operation}: ${outcome}`);
  }
  return deviating;
}

describe("link and unshared operations", () => {
  test("link operations respond not found for unknown secrets and those of other users", async () => {
    await protect(ann, "v");
    for (const more of [
      {},
      { owner: ann.email },
      { owner: "unknown@example.com" },
      { key_name: "nowhere" },
    ]) {
      expect(
        await deviations("404 secret_not_found", bob, linkOperations, more),
        JSON.stringify(more),
      ).toEqual([]);
    }
  });

  test("link operations on an own unshared secret are use_unshared_operation", async () => {
    await protect(ann, "v");
    for (const more of [{}, { owner: "Ann@Example.com" }]) {
      expect(
        await deviations("409 use_unshared_operation", ann, linkOperations, more),
        JSON.stringify(more),
      ).toEqual([]);
    }
  });

  test("the creator needs link operations while the secret has grants", async () => {
    await protect(ann, "v");
    await share(ann, bob, "R");
    expect(await deviations("409 use_link_operation", ann, unsharedOperations)).toEqual([]);
    expect(await deviations("200", ann, linkOperations)).toEqual([]);
    await ann.call("unshare", { key_name: name });
    expect((await ann.call("expose", { key_name: name })).json()).toMatchObject({
      key_value: "new",
      key_version: 2,
    });
    expect((await ann.call("expose_link", { key_name: name })).outcome()).toBe(
      "409 use_unshared_operation",
    );
  });

  test("unshared operations cannot read a received secret; protect creates an own one", async () => {
    await protect(ann, "ann's");
    await share(ann, bob, "RW");
    expect(await deviations("409 use_link_operation", bob, unsharedReads)).toEqual([]);
    expect((await protect(bob, "bob's")).json().secret).toMatchObject({
      owner: bob.email,
      shared: false,
      key_version: 1,
    });
    expect((await bob.call("expose", { key_name: name })).json().key_value).toBe("bob's");
    expect((await bob.call("expose_link", { key_name: name })).json().key_value).toBe("ann's");
  });

  test("several shared secrets of one name are ambiguous_name without owner", async () => {
    for (const caller of [ann, bob]) {
      await protect(caller, caller.email);
      await share(caller, cid, "RW");
    }
    await share(ann, bob, "RW");
    for (const caller of [cid, bob]) {
      expect(await deviations("409 ambiguous_name", caller, linkOperations)).toEqual([]);
      for (const owner of [ann.email, bob.email]) {
        expect((await caller.call("expose_link", { key_name: name, owner })).json()).toMatchObject({
          key_value: owner,
          owner,
        });
      }
    }
  });
});

describe("reading a shared secret", () => {
  test("W alone does not allow reading or listing", async () => {
    await protect(ann, "v");
    await share(ann, bob, "W");
    expect(await deviations("403 forbidden", bob, linkReads)).toEqual([]);
    expect((await bob.call("list_no_dup")).bytes.toString()).not.toContain(name);
  });

  test("R allows reading values and versions as the creator does, with another permission", async () => {
    await protect(ann, "one", { metadata: { note: "n" } });
    await protect(ann, "two");
    await share(ann, bob, "R");
    const exposed = {
      key_name: name,
      owner: ann.email,
      expired: false,
      metadata: { note: "n", cloud_type: "aws" },
    };
    for (const caller of [ann, bob]) {
      const latest = await caller.call("expose_link", { key_name: name });
      expect(latest.json()).toMatchObject({ ...exposed, key_value: "two", key_version: 2 });
      expect(latest.headers["cache-control"]).toBe("no-store");
      const first = await caller.call("version_expose_link", { key_name: name, key_version: 1 });
      expect(first.json()).toMatchObject({ ...exposed, key_value: "one", key_version: 1 });
    }
    const listed = (await bob.call("version_list_for_link", { key_name: name })).json();
    expect(listed).toMatchObject({
      key_name: name,
      versions: [{ key_version: 1 }, { key_version: 2 }],
    });
    const own = (await ann.call("version_list_for_link", { key_name: name })).json();
    const asBob = own.versions.map((record: object) => ({ ...record, permission: "R" }));
    expect(own.versions[0]).toMatchObject({ shared: true, permission: "RW" });
    expect(listed.versions).toEqual(asBob);
  });

  test("an unknown version is version_not_found, a missing one invalid_request", async () => {
    await protect(ann, "v");
    await share(ann, bob, "R");
    const reveal = (version: unknown) =>
      bob.call("version_expose_link", { key_name: name, key_version: version });
    expect((await reveal(2)).outcome()).toBe("404 version_not_found");
    expect((await reveal("1")).outcome()).toBe("400 invalid_request");
    expect((await reveal(undefined)).outcome()).toBe("400 invalid_request");
  });

  test("scopes apply to received secrets by metadata and name", async () => {
    await protect(ann, "v", { metadata: { cloud_type: "gcp" } });
    await share(ann, bob, "RW");
    const narrow = await vault.client(bob.email, scopeString({ cloud_type: ["aws"] }));
    expect(await deviations("403 out_of_scope", narrow, linkOperations)).toEqual([]);
    expect((await narrow.call("list_no_dup")).bytes.toString()).not.toContain(name);
    const fitting = await vault.client(
      bob.email,
      scopeString({ cloud_type: ["gcp"], secret_name: [name] }),
    );
    expect((await fitting.call("list_no_dup")).json().secrets).toMatchObject([
      { key_name: name, owner: ann.email },
    ]);
    expect((await fitting.call("expose_link", { key_name: name })).json().key_value).toBe("v");
  });

  test("with --expired deny, expired shared values are secret_expired", async () => {
    const clock = new VirtualClock();
    await using deny = await TestVault.start({ expired: "deny", clock });
    const [creator, reader] = [
      await deny.client("ann@example.com"),
      await deny.client("bob@example.com"),
    ];
    await protect(creator, "v", { expiration_time: 0 });
    await share(creator, reader, "R");
    expect(await deviations("403 secret_expired", reader, linkReads.slice(0, 2))).toEqual([]);
  });
});

describe("protect_link", () => {
  test.each([
    { key_value: undefined },
    { key_value: 1 },
    { key_value: "v", without_list: "1" },
    { key_value: "v", without_list: true },
    { key_value: "v", owner: ["a"] },
  ])("rejects a body with %j", async (body) => {
    expect((await ann.call("protect_link", { key_name: name, ...body })).outcome()).toBe(
      "400 invalid_request",
    );
  });

  test("R alone does not allow writing, and a value above the limit is too_large", async () => {
    await protect(ann, "v");
    await share(ann, bob, "R");
    expect((await bob.call("protect_link", { key_name: name, key_value: "w" })).outcome()).toBe(
      "403 forbidden",
    );
    await share(ann, bob, "RW");
    const large = await bob.call("protect_link", {
      key_name: name,
      key_value: "x".repeat(1024 * 1024 + 1),
    });
    expect(large.outcome()).toBe("413 too_large");
    expect((await bob.call("expose_link", { key_name: name })).json()).toMatchObject({
      key_value: "v",
      key_version: 1,
    });
  });

  test("adds a version with unchanged metadata and deadline and returns the caller's list", async () => {
    await protect(ann, "one", { metadata: { note: "n" }, delete_time: 1000 });
    await share(ann, bob, "RW");
    const before = (await bob.call("list_no_dup"))
      .json()
      .secrets.find((secret: { key_name: string }) => secret.key_name === name);
    const response = await bob.call("protect_link", { key_name: name, key_value: "two" });
    const { secret, secrets } = response.json();
    expect(secret).toMatchObject({
      key_version: 2,
      owner: ann.email,
      shared: true,
      permission: "RW",
      metadata: before.metadata,
    });
    expect(secret.delete_time).toBe(1000);
    expect(secret.delete_at).toEqual(before.delete_at);
    expect(secrets).toEqual((await bob.call("list_no_dup")).json().secrets);
    expect(secrets).toContainEqual(secret);
    expect((await ann.call("expose_link", { key_name: name })).json()).toMatchObject({
      key_value: "two",
      key_version: 2,
    });
  });

  test("without_list 1 omits the list, any other number includes it", async () => {
    await protect(ann, "v");
    await share(ann, bob, "W");
    const members = async (flag: number) =>
      Object.keys(
        (
          await bob.call("protect_link", { key_name: name, key_value: "w", without_list: flag })
        ).json(),
      );
    expect(await members(1)).toEqual(["secret"]);
    expect(await members(0)).toEqual(["secret", "secrets"]);
    expect(await members(2)).toEqual(["secret", "secrets"]);
  });

  test("a write-only grantee gets the version number but no list entry", async () => {
    await protect(ann, "v");
    await share(ann, bob, "W");
    const { secret, secrets } = (
      await bob.call("protect_link", { key_name: name, key_value: "w" })
    ).json();
    expect(secret).toMatchObject({ key_name: name, key_version: 2, permission: "W" });
    expect(secrets.map((record: { key_name: string }) => record.key_name)).not.toContain(name);
  });

  test("concurrent writes of creator and grantee get distinct version numbers", async () => {
    await protect(ann, "v");
    await share(ann, bob, "W");
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (i % 2 === 0 ? ann : bob).call("protect_link", {
          key_name: name,
          key_value: `${i}`,
          without_list: 1,
        }),
      ),
    );
    const versions = responses
      .map((response) => response.json().secret.key_version)
      .sort((a, b) => a - b);
    expect(versions).toEqual(Array.from({ length: 20 }, (_, i) => i + 2));
  });
});
