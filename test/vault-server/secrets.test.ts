import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VirtualClock } from "../support/clock/virtual-clock.ts";
import { TestVault } from "../support/vault/test-vault.ts";
import { scopeString, sendRequest, type VaultClient } from "../support/vault/vault-client.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

const defaults = {
  application_type: "container",
  classification: "top",
  cloud_type: "aws",
  description: "n/a",
  environment_type: "dev",
  expiration_time: 10,
};

let clock: VirtualClock;
let vault: TestVault;
let ann: VaultClient;
let bob: VaultClient;
let freshNumber = 0;
const freshName = (): string => `secret-${(freshNumber += 1)}`;
beforeAll(async () => {
  clock = new VirtualClock();
  vault = await TestVault.start({ clock, limits: { requestsPerSecond: 1e6, requestBurst: 1e6 } });
  ann = await vault.client("ann@example.com", scopeString(), 1e6);
  bob = await vault.client("bob@example.com", scopeString(), 1e6);
});
afterAll(() => vault[Symbol.asyncDispose]());

const protect = async (caller: VaultClient, body: object) => (await caller.call("protect", body)).json().secret;
const exposed = async (caller: VaultClient, name: string) => (await caller.call("expose", { key_name: name })).json().key_value;
const names = async (caller: VaultClient): Promise<string[]> =>
  (await caller.call("list_no_dup")).json().secrets.map((secret: { key_name: string }) => secret.key_name);

const metadataOf = async (body: object) => (await protect(ann, { key_name: freshName(), key_value: "v", ...body })).metadata;

describe("protect", () => {
  test("creates a secret with default metadata", async () => {
    const name = freshName();
    const start = clock.now();
    const response = await ann.call("protect", { key_name: name, key_value: "v" });
    expect(response.json()).toEqual({
      secret: {
        key_name: name,
        key_version: 1,
        owner: "ann@example.com",
        shared: false,
        permission: "RW",
        metadata: defaults,
        delete_time: 525_600_000,
        created_at: new Date(start).toISOString(),
        updated_at: new Date(start).toISOString(),
        expires_at: new Date(start + 10 * DAY).toISOString(),
        expired: false,
        delete_at: new Date(start + 525_600_000 * MINUTE).toISOString(),
      },
    });
  });

  test("adds a version for an existing name, even with an equal value, and keeps old values", async () => {
    const name = freshName();
    for (const value of ["one", "two", "two"]) await ann.call("protect", { key_name: name, key_value: value });
    const values = [];
    for (const version of [1, 2, 3]) {
      const response = (await ann.call("version_expose", { key_name: name, key_version: version })).json();
      values.push([response.key_version, response.key_value]);
    }
    expect(values).toEqual([
      [1, "one"],
      [2, "two"],
      [3, "two"],
    ]);
    expect((await ann.call("expose", { key_name: name })).json()).toEqual({
      key_name: name,
      key_value: "two",
      key_version: 3,
      metadata: defaults,
      owner: "ann@example.com",
      expired: false,
    });
  });

  test("concurrent writes get distinct version numbers", async () => {
    const name = freshName();
    const records = await Promise.all(Array.from({ length: 30 }, (_, i) => protect(ann, { key_name: name, key_value: `v${i}` })));
    expect(records.map((record) => record.key_version).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 30 }, (_, i) => i + 1),
    );
  });

  test("merges metadata into that of the previous version, per version", async () => {
    const name = freshName();
    await protect(ann, {
      key_name: name,
      key_value: "1",
      metadata: { cloud_type: "gcp", team: { on: [1, null, "x"] }, gone: null },
    });
    await protect(ann, { key_name: name, key_value: "2", metadata: { team: "other", expiration_time: 3 } });
    await protect(ann, { key_name: name, key_value: "3" });
    const { versions } = (await ann.call("version_list", { key_name: name })).json();
    const first = { ...defaults, cloud_type: "gcp", team: { on: [1, null, "x"] }, gone: null };
    const second = { ...first, team: "other", expiration_time: 3 };
    expect(versions.map((record: { metadata: object }) => record.metadata)).toEqual([first, second, second]);
    expect(versions.map((record: { key_version: number }) => record.key_version)).toEqual([1, 2, 3]);
  });

  test("accepts standard metadata at the top level; metadata and correct spellings take precedence", async () => {
    expect(await metadataOf({ cloud_type: "top", expiration_time: 4 })).toEqual({
      ...defaults,
      cloud_type: "top",
      expiration_time: 4,
    });
    expect((await metadataOf({ cloud_type: "top", metadata: { cloud_type: "in" } })).cloud_type).toBe("in");
    expect(await metadataOf({ enviroment_type: "e" })).toEqual({ ...defaults, environment_type: "e" });
    expect((await metadataOf({ enviroment_type: "wrong", environment_type: "right" })).environment_type).toBe("right");
    expect((await metadataOf({ metadata: { enviroment_type: "wrong", environment_type: "right" } })).environment_type).toBe(
      "right",
    );
    expect((await metadataOf({ metadata: { enviroment_type: "in" }, environment_type: "top" })).environment_type).toBe("in");
    expect(await metadataOf({ owner: "x", custom: "y" })).toEqual(defaults);
  });

  test("treats __proto__ and constructor as plain names of secrets and metadata", async () => {
    for (const name of ["__proto__", "constructor", "toString"]) {
      const metadata = `{"__proto__":{"polluted":1},"constructor":"c","nested":{"__proto__":2}}`;
      const headers = { "content-type": "application/json", authorization: ann.token };
      const body = `{"email":"ann@example.com","key_name":"${name}","key_value":"v","metadata":${metadata}}`;
      expect((await sendRequest(`${vault.url}/v1/user/secret/protect`, { headers, body })).status).toBe(200);
      const response = await ann.call("expose", { key_name: name });
      expect(response.bytes.toString()).toContain(`"__proto__":{"polluted":1},"constructor":"c","nested":{"__proto__":2}`);
      expect(Object.keys(response.json().metadata)).toEqual(expect.arrayContaining(["__proto__", "constructor", "nested"]));
    }
    expect(await names(ann)).toEqual(expect.arrayContaining(["__proto__", "constructor", "toString"]));
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test.each([
    ["empty", ""],
    ["a NUL and control characters", "a\u0000b\u0007\r\n"],
    ["emoji and both normal forms", "💚 é e\u0301"],
    ["many lines", "-----BEGIN X-----\nabc\n-----END X-----\n"],
    ["100 KB", "0123456789".repeat(10_000)],
    ["1 MiB of three-byte characters", "€".repeat(349_525)],
  ])("returns a value unchanged: %s", async (_what, value) => {
    const name = freshName();
    expect((await ann.call("protect", { key_name: name, key_value: value })).status).toBe(200);
    expect(await exposed(ann, name)).toBe(value);
  });

  test("rejects a value above 1 MiB in UTF-8 as too_large", async () => {
    const refused = await ann.call("protect", { key_name: freshName(), key_value: "€".repeat(349_526) });
    expect([refused.status, refused.code()]).toEqual([413, "too_large"]);
  });

  test.each(["", "a\nb", "a\u0000", "\u007f", "\u0085", "n".repeat(257), "💚".repeat(257), "\ud800"])(
    "rejects the name %j",
    async (name) => {
      const response = await ann.call("protect", { key_name: name, key_value: "v" });
      expect([response.status, response.code()]).toEqual([400, "invalid_request"]);
    },
  );

  test("keeps names of 256 emoji, with slashes and spaces, and in distinct normal forms", async () => {
    for (const name of ["💚".repeat(256), "a/b c:d%2C", "caf\u00e9", "cafe\u0301"]) {
      await protect(ann, { key_name: name, key_value: name });
      expect(await exposed(ann, name)).toBe(name);
    }
  });

  test.each([
    { key_value: undefined },
    { key_value: null },
    { key_value: 1 },
    { key_value: "\ud800" },
    { key_name: ["a"] },
    { metadata: "x" },
    { metadata: [] },
    { metadata: null },
    { metadata: { expiration_time: "10" } },
    { metadata: { expiration_time: -1 } },
    { metadata: { expiration_time: 1.5 } },
    { metadata: { description: null } },
    { expiration_time: "10" },
    { cloud_type: 1 },
    { delete_time: 0 },
    { delete_time: 1.5 },
    { delete_time: "1.5" },
    { delete_time: "" },
    { delete_time: "-1" },
    { delete_time: 10 ** 12 + 1 },
    { delete_time: true },
  ])("rejects a body with %j", async (body) => {
    const response = await ann.call("protect", { key_name: "never", key_value: "v", ...body });
    expect([response.status, response.code()]).toEqual([400, "invalid_request"]);
  });

  test("rejects a JSON number that exceeds a double", async () => {
    const headers = { "content-type": "application/json", authorization: ann.token };
    const body = `{"email":"ann@example.com","key_name":"n","key_value":"v","metadata":{"x":[1e999]}}`;
    expect((await sendRequest(`${vault.url}/v1/user/secret/protect`, { headers, body })).code()).toBe("invalid_request");
  });
});

describe("reading secrets", () => {
  test("responds not found for unknown names and versions and for other users' secrets", async () => {
    const name = freshName();
    await protect(ann, { key_name: name, key_value: "v" });
    for (const [operation, body] of [
      ["expose", {}],
      ["version_list", {}],
      ["version_expose", { key_version: 1 }],
    ] as const) {
      expect((await ann.call(operation, { key_name: "nowhere", ...body })).code()).toBe("secret_not_found");
      expect((await bob.call(operation, { key_name: name, ...body })).code()).toBe("secret_not_found");
    }
    expect((await ann.call("version_expose", { key_name: name, key_version: 2 })).code()).toBe("version_not_found");
    expect((await ann.call("version_expose", { key_name: name, key_version: "1" })).code()).toBe("invalid_request");
    expect((await ann.call("version_expose", { key_name: name })).code()).toBe("invalid_request");
    expect(await names(bob)).not.toContain(name);
  });

  test("keeps secrets of two users with the same name apart", async () => {
    const name = freshName();
    await protect(ann, { key_name: name, key_value: "ann's" });
    await protect(bob, { key_name: name, key_value: "bob's" });
    expect([await exposed(ann, name), await exposed(bob, name)]).toEqual(["ann's", "bob's"]);
  });

  test("list_no_dup has each secret once with its latest version, in code point order, no values", async () => {
    await using other = await TestVault.start();
    const eve = await other.client("ann@example.com");
    const canary = "canary-5d1b7e";
    for (const name of ["\u{10000}", "\uffff", "b", "a", "B", "a"]) await protect(eve, { key_name: name, key_value: canary });
    const response = await eve.call("list_no_dup");
    const listed = response
      .json()
      .secrets.map((secret: { key_name: string; key_version: number }) => [secret.key_name, secret.key_version]);
    expect(listed).toEqual([
      ["B", 1],
      ["a", 2],
      ["b", 1],
      ["\uffff", 1],
      ["\u{10000}", 1],
    ]);
    expect(response.bytes.toString()).not.toContain(canary);
    expect((await eve.call("version_list", { key_name: "a" })).bytes.toString()).not.toContain(canary);
  });

  test("list_no_dup responds with an empty array for no secrets", async () => {
    await using other = await TestVault.start();
    expect((await (await other.client("bob@example.com")).call("list_no_dup")).json()).toEqual({ secrets: [] });
  });
});

const scoped = (narrowed: Record<string, string[]>) => vault.client("ann@example.com", scopeString(narrowed), 1e6);

describe("scopes", () => {
  test("a narrowed token lists and reads exactly the secrets that match all attributes", async () => {
    const tag = freshName();
    const metadata = { cloud_type: tag, classification: "low", application_type: "vm", environment_type: "prod" };
    await protect(ann, { key_name: tag, key_value: "v", metadata });
    const reached = [
      { cloud_type: [tag] },
      { cloud_type: ["other", tag], classification: ["top", "low"] },
      { secret_name: [tag], application_type: ["vm"], environment_type: ["prod"] },
      { secret_name: ["all"] },
    ];
    for (const narrowed of reached) {
      const caller = await scoped(narrowed);
      expect([await names(caller), await exposed(caller, tag)]).toEqual([expect.arrayContaining([tag]), "v"]);
    }
    const missed = [
      { cloud_type: ["other"] },
      { classification: ["top"], cloud_type: [tag] },
      { secret_name: ["other"] },
      { cloud_type: [`${tag}*`] },
    ];
    for (const narrowed of missed) {
      const caller = await scoped(narrowed);
      expect(await names(caller)).not.toContain(tag);
      for (const [operation, body] of [
        ["expose", {}],
        ["version_list", {}],
        ["version_expose", { key_version: 1 }],
      ] as const) {
        const response = await caller.call(operation, { key_name: tag, ...body });
        expect([operation, response.status, response.code()]).toEqual([operation, 403, "out_of_scope"]);
      }
    }
  });

  test("the metadata of the latest version decides immediately, also for older versions", async () => {
    const name = freshName();
    await protect(ann, { key_name: name, key_value: "1", metadata: { cloud_type: "before" } });
    const before = await scoped({ cloud_type: ["before"], secret_name: [name] });
    const after = await scoped({ cloud_type: ["after"], secret_name: [name] });
    expect([await names(before), await names(after)]).toEqual([[name], []]);
    await protect(ann, { key_name: name, key_value: "2", metadata: { cloud_type: "after" } });
    expect([await names(before), await names(after)]).toEqual([[], [name]]);
    expect((await before.call("version_expose", { key_name: name, key_version: 1 })).code()).toBe("out_of_scope");
    expect((await after.call("version_expose", { key_name: name, key_version: 1 })).json().key_value).toBe("1");
  });

  test("a secret cannot be created, changed or moved outside the token's scope", async () => {
    const name = freshName();
    const caller = await scoped({ cloud_type: ["mine"] });
    expect((await caller.call("protect", { key_name: name, key_value: "v" })).code()).toBe("out_of_scope");
    expect(await names(ann)).not.toContain(name);
    expect((await caller.call("protect", { key_name: name, key_value: "v", metadata: { cloud_type: "mine" } })).status).toBe(200);
    expect((await caller.call("protect", { key_name: name, key_value: "w", metadata: { cloud_type: "other" } })).code()).toBe(
      "out_of_scope",
    );
    await protect(ann, { key_name: name, key_value: "x", metadata: { cloud_type: "other" } });
    expect((await caller.call("protect", { key_name: name, key_value: "y", metadata: { cloud_type: "mine" } })).code()).toBe(
      "out_of_scope",
    );
    expect(await exposed(ann, name)).toBe("x");
  });

  test("an unknown name is secret_not_found for any scope", async () => {
    const caller = await scoped({ secret_name: ["only-this"] });
    expect((await caller.call("expose", { key_name: "nowhere" })).code()).toBe("secret_not_found");
  });

  test("percent-encoded values are literal: comma, colon, star and the word all", async () => {
    for (const name of ["a,b", "a:b", "*", "all", "100%"]) {
      await protect(ann, { key_name: name, key_value: name });
      const encoded = encodeURIComponent(name).replace("*", "%2A").replace("all", "%61ll");
      const caller = await scoped({ secret_name: [encoded] });
      expect(await names(caller)).toEqual([name]);
    }
  });
});

describe("deadlines", () => {
  test("at delete_time the secret disappears for all operations; its name restarts at version 1", async () => {
    const name = freshName();
    await protect(ann, { key_name: name, key_value: "1", delete_time: "2" });
    await protect(ann, { key_name: name, key_value: "2" });
    clock.stepWall(2 * MINUTE - 1);
    expect([await exposed(ann, name), await names(ann)]).toEqual(["2", expect.arrayContaining([name])]);
    clock.stepWall(1);
    expect(await names(ann)).not.toContain(name);
    for (const [operation, body] of [
      ["expose", {}],
      ["version_list", {}],
      ["version_expose", { key_version: 1 }],
    ] as const) {
      expect((await ann.call(operation, { key_name: name, ...body })).code()).toBe("secret_not_found");
    }
    const again = await protect(ann, { key_name: name, key_value: "new" });
    expect([again.key_version, again.delete_time]).toEqual([1, 525_600_000]);
    expect((await ann.call("version_list", { key_name: name })).json().versions).toHaveLength(1);
  });

  test("delete_time counts from the request that set it; protect without it keeps the deadline", async () => {
    const name = freshName();
    const first = await protect(ann, { key_name: name, key_value: "1", delete_time: 10 });
    clock.stepWall(MINUTE);
    const kept = await protect(ann, { key_name: name, key_value: "2", delete_time: null });
    expect([kept.delete_time, kept.delete_at]).toEqual([10, first.delete_at]);
    const moved = await protect(ann, { key_name: name, key_value: "3", delete_time: "20" });
    expect([moved.delete_time, moved.delete_at]).toEqual([20, new Date(clock.now() + 20 * MINUTE).toISOString()]);
  });

  test("a deadline beyond JavaScript's dates is a number of milliseconds", async () => {
    const record = await protect(ann, { key_name: freshName(), key_value: "v", delete_time: 10 ** 12, expiration_time: 10 ** 9 });
    expect(record.delete_at).toBe(clock.now() + 6e16);
    expect(record.expires_at).toBe(clock.now() + 8.64e16);
  });

  test("an expired version is listed and, by default, served", async () => {
    const name = freshName();
    await protect(ann, { key_name: name, key_value: "v", expiration_time: 1 });
    const isExpired = async () => [
      (await ann.call("list_no_dup")).json().secrets.find((secret: { key_name: string }) => secret.key_name === name).expired,
      (await ann.call("expose", { key_name: name })).json().expired,
    ];
    clock.stepWall(DAY - 1);
    expect(await isExpired()).toEqual([false, false]);
    clock.stepWall(1);
    expect(await isExpired()).toEqual([true, true]);
    await protect(ann, { key_name: name, key_value: "w" });
    expect(await isExpired()).toEqual([false, false]);
    expect((await ann.call("version_expose", { key_name: name, key_version: 1 })).json().expired).toBe(true);
  });

  test("with --expired deny, expired versions are listed but secret_expired when read", async () => {
    const denyClock = new VirtualClock();
    await using deny = await TestVault.start({ expired: "deny", clock: denyClock });
    const caller = await deny.client("ann@example.com", scopeString(), 1000);
    await protect(caller, { key_name: "x", key_value: "1", expiration_time: 0 });
    const refused = await caller.call("expose", { key_name: "x" });
    expect([refused.status, refused.code()]).toEqual([403, "secret_expired"]);
    await protect(caller, { key_name: "x", key_value: "2", expiration_time: 1 });
    expect(await exposed(caller, "x")).toBe("2");
    expect((await caller.call("version_expose", { key_name: "x", key_version: 1 })).code()).toBe("secret_expired");
    expect(await names(caller)).toEqual(["x"]);
    const narrow = await deny.client("ann@example.com", scopeString({ secret_name: ["other"] }));
    expect((await narrow.call("version_expose", { key_name: "x", key_version: 1 })).code()).toBe("out_of_scope");
  });
});
