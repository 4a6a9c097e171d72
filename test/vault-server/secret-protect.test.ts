import { describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import {
  defaultMetadata,
  listNames,
  protectSecret,
  readValue,
  nameSequence,
} from "../lab/vault/requests.ts";
import { sendRequest } from "../lab/vault/vault-client.ts";
import { useVault } from "../lab/vault/use-vault.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

const clock = new VirtualClock();
const freshName = nameSequence("secret");
const { vault, ann } = await useVault({ clock });

const metadataOf = async (body: object) =>
  (await protectSecret(ann, { key_name: freshName(), key_value: "v", ...body })).metadata;

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
        metadata: defaultMetadata,
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
    for (const value of ["one", "two", "two"])
      await ann.call("protect", { key_name: name, key_value: value });
    const values = [];
    for (const version of [1, 2, 3]) {
      const response = (
        await ann.call("version_expose", { key_name: name, key_version: version })
      ).json();
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
      metadata: defaultMetadata,
      owner: "ann@example.com",
      expired: false,
    });
  });

  test("concurrent writes get distinct version numbers", async () => {
    const name = freshName();
    const records = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        protectSecret(ann, { key_name: name, key_value: `v${i}` }),
      ),
    );
    expect(records.map((record) => record.key_version).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 30 }, (_, i) => i + 1),
    );
  });

  test("merges metadata into that of the previous version, per version", async () => {
    const name = freshName();
    await protectSecret(ann, {
      key_name: name,
      key_value: "1",
      metadata: { cloud_type: "gcp", team: { on: [1, null, "x"] }, gone: null },
    });
    await protectSecret(ann, {
      key_name: name,
      key_value: "2",
      metadata: { team: "other", expiration_time: 3 },
    });
    await protectSecret(ann, { key_name: name, key_value: "3" });
    const { versions } = (await ann.call("version_list", { key_name: name })).json();
    const first = {
      ...defaultMetadata,
      cloud_type: "gcp",
      team: { on: [1, null, "x"] },
      gone: null,
    };
    const second = { ...first, team: "other", expiration_time: 3 };
    expect(versions.map((record: { metadata: object }) => record.metadata)).toEqual([
      first,
      second,
      second,
    ]);
    expect(versions.map((record: { key_version: number }) => record.key_version)).toEqual([
      1, 2, 3,
    ]);
  });

  test("accepts standard metadata at the top level; metadata and correct spellings take precedence", async () => {
    expect(await metadataOf({ cloud_type: "top", expiration_time: 4 })).toEqual({
      ...defaultMetadata,
      cloud_type: "top",
      expiration_time: 4,
    });
    expect(
      (await metadataOf({ cloud_type: "top", metadata: { cloud_type: "in" } })).cloud_type,
    ).toBe("in");
    expect(await metadataOf({ enviroment_type: "e" })).toEqual({
      ...defaultMetadata,
      environment_type: "e",
    });
    expect(
      (await metadataOf({ enviroment_type: "wrong", environment_type: "right" })).environment_type,
    ).toBe("right");
    expect(
      (await metadataOf({ metadata: { enviroment_type: "wrong", environment_type: "right" } }))
        .environment_type,
    ).toBe("right");
    expect(
      (await metadataOf({ metadata: { enviroment_type: "in" }, environment_type: "top" }))
        .environment_type,
    ).toBe("in");
    expect(await metadataOf({ owner: "x", custom: "y" })).toEqual(defaultMetadata);
  });

  test("treats __proto__ and constructor as plain names of secrets and metadata", async () => {
    for (const name of ["__proto__", "constructor", "toString"]) {
      const metadata = `{"__proto__":{"polluted":1},"constructor":"c","nested":{"__proto__":2}}`;
      const headers = { "content-type": "application/json", authorization: ann.token };
      const body = `{"email":"ann@example.com","key_name":"${name}","key_value":"v","metadata":${metadata}}`;
      expect(
        (await sendRequest(`${vault.url}/v1/user/secret/protect`, { headers, body })).status,
      ).toBe(200);
      const response = await ann.call("expose", { key_name: name });
      expect(response.bytes.toString()).toContain(
        `"__proto__":{"polluted":1},"constructor":"c","nested":{"__proto__":2}`,
      );
      expect(Object.keys(response.json().metadata)).toEqual(
        expect.arrayContaining(["__proto__", "constructor", "nested"]),
      );
    }
    expect(await listNames(ann)).toEqual(
      expect.arrayContaining(["__proto__", "constructor", "toString"]),
    );
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
    expect(await readValue(ann, name)).toBe(value);
  });

  test("rejects a value above 1 MiB in UTF-8 as too_large", async () => {
    const refused = await ann.call("protect", {
      key_name: freshName(),
      key_value: "€".repeat(349_526),
    });
    expect(refused.status).toBe(413);
    expect(refused.code()).toBe("too_large");
  });

  test.each([
    "",
    "a\nb",
    "a\u0000",
    "\u007f",
    "\u0085",
    "n".repeat(257),
    "💚".repeat(257),
    "\ud800",
  ])("rejects the name %j", async (name) => {
    const response = await ann.call("protect", { key_name: name, key_value: "v" });
    expect(response.status).toBe(400);
    expect(response.code()).toBe("invalid_request");
  });

  test("keeps names of 256 emoji, with slashes and spaces, and in distinct normal forms", async () => {
    for (const name of ["💚".repeat(256), "a/b c:d%2C", "caf\u00e9", "cafe\u0301"]) {
      await protectSecret(ann, { key_name: name, key_value: name });
      expect(await readValue(ann, name)).toBe(name);
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
    expect(response.status).toBe(400);
    expect(response.code()).toBe("invalid_request");
  });

  test("rejects a JSON number that exceeds a double", async () => {
    const headers = { "content-type": "application/json", authorization: ann.token };
    const body = `{"email":"ann@example.com","key_name":"n","key_value":"v","metadata":{"x":[1e999]}}`;
    expect(
      (await sendRequest(`${vault.url}/v1/user/secret/protect`, { headers, body })).code(),
    ).toBe("invalid_request");
  });
});
