import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { World } from "../lab/real/world.ts";
import {
  bytesOf,
  condition,
  type ObservedObject,
  vaultFile,
  vaultSecret,
} from "../lab/real/resources.ts";

/**
 * Content that a spec makes of the values and names of a vault, on a real API server and a real
 * vault.
 */
let world: World;
let text: string;
beforeAll(async () => {
  world = await World.create();
  text = world.canaries.text("text");
  await world.startOperator();
});
afterAll(() => world[Symbol.asyncDispose]());

type Spec = Readonly<Record<string, unknown>>;

/** A VaultSecret without `data`. */
function derived(name: string, spec: Spec): object {
  const base = { apiVersion: "vaultsync.dev/v1alpha1", kind: "VaultSecret", metadata: { name } };
  return { ...base, spec: { connectionRef: { name: "vault" }, ...spec } };
}

/** Returns the name of the resource for a case. */
const nameOf = (what: string): string => what.toLowerCase().replaceAll(/[^a-z0-9]+/gu, "-");

const valuesOf = (object: ObservedObject): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.keys(object.data)
      .sort()
      .map((key) => [key, bytesOf(object, key)?.toString()]),
  );

/** Waits until a resource has this reason, and returns its message. */
async function messageOf(name: string, reason: string, kind = "VaultSecret"): Promise<string> {
  const object = await world.untilReason(kind, name, reason);
  return condition(object, "Ready")?.message ?? "";
}

/** Applies a resource and waits until it is ready; returns the values of its target. */
async function synced(name: string, resource: object): Promise<Record<string, string | undefined>> {
  await world.apply(resource);
  await world.ready("VaultSecret", name);
  return valuesOf(await world.until("Secret", name, () => true));
}

describe("property and decoding", () => {
  const PARTS = {
    nested: { key: "json", property: "/a~1b/~0" },
    number: { key: "json", property: "/list/1" },
    large: { key: "json", property: "/large" },
    decoded: { key: "json", property: "/encoded", decoding: "Base64" },
    object: { key: "json", property: "/list" },
    url: { key: "encoded", decoding: "Base64URL" },
  };

  test("store parts of a value, with the digits of its numbers", async () => {
    const encoded = Buffer.from(text).toString("base64");
    await world.protect(
      "json",
      `{"a/b": {"~": "${text}"}, "list": [true, 1e400], "large": 12345678901234567890, "encoded": "${encoded}"}`,
    );
    await world.protect("encoded", Buffer.from(`${text}??>>`).toString("base64url"));
    expect(await synced("parts", vaultSecret("parts", PARTS))).toEqual({
      decoded: text,
      large: "12345678901234567890",
      nested: text,
      number: "1e400",
      object: "[true, 1e400]",
      url: `${text}??>>`,
    });
  });

  test("that change rewrite the key of the same version", async () => {
    await world.apply(
      vaultSecret("parts", { ...PARTS, nested: { key: "json", property: "/list/0" } }),
    );
    await world.has("parts", "nested", "true");
  });

  test.each([
    ["a value that is no JSON", "plain", { property: "/a" }, "plain: the value is not valid JSON"],
    [
      "a pointer to nothing",
      "json",
      { property: "/list/2" },
      "json: the value has nothing at /list/2",
    ],
    [
      "a value that is no base64",
      "plain",
      { decoding: "Base64" },
      "plain: the value is not valid Base64",
    ],
  ])("of %s are InvalidProperty, and nothing is created", async (what, key, part, message) => {
    const name = nameOf(what);
    await world.protect("plain", `${world.canaries.text("plain")} *`);
    await world.apply(vaultSecret(name, { part: { key, ...part } }));
    expect(await messageOf(name, "InvalidProperty")).toContain(message);
    expect(await world.get("Secret", name)).toBeUndefined();
  });

  test("that a new version lacks keep the target, until a later one has them", async () => {
    await world.protect("changing", `{"a": "${text}"}`);
    const one = { part: { key: "changing", property: "/a" } };
    expect(await synced("changing", vaultSecret("changing", one))).toEqual({ part: text });
    await world.protect("changing", `{"${world.canaries.text("member name")}": 1}`);
    await messageOf("changing", "InvalidProperty");
    expect(valuesOf((await world.get("Secret", "changing"))!)).toEqual({ part: text });
    await world.protect("changing", '{"a": 2}');
    await world.ready("VaultSecret", "changing");
    expect(valuesOf((await world.get("Secret", "changing"))!)).toEqual({ part: "2" });
  });
});

describe("optional", () => {
  test("secrets join when the vault lists them, and their absence is no error", async () => {
    const data = [
      { secretKey: "always", remoteRef: { key: "json", property: "/large" } },
      { secretKey: "later", remoteRef: { key: "later" }, optional: true },
    ];
    expect(Object.keys(await synced("optional", derived("optional", { data })))).toEqual([
      "always",
    ]);
    await world.protect("later", text);
    const joined = await world.until(
      "Secret",
      "optional",
      (object) => object.data["later"] !== undefined,
    );
    expect(valuesOf(joined)["later"]).toBe(text);
  });
});

describe("extract and rewrite", () => {
  const extract = { extract: { key: "config" } };
  const rewrite = [{ regexp: { source: "^db/(?P<part>.*)$", target: "database.${part}" } }];

  test("make a key of each member, and follow added and removed ones", async () => {
    await world.protect("config", `{"db/host": "${text}", "port": 5432}`);
    expect(
      await synced("config", derived("config", { dataFrom: [{ ...extract, rewrite }] })),
    ).toEqual({
      "database.host": text,
      port: "5432",
    });
    await world.protect("config", '{"db/user": "u", "port": 5432}');
    const followed = await world.until(
      "Secret",
      "config",
      (object) => object.data["database.user"] !== undefined,
    );
    expect(valuesOf(followed)).toEqual({ "database.user": "u", port: "5432" });
  });

  test.each([
    [
      "a name that is no valid key",
      [extract],
      "InvalidKey",
      "member 1 of config does not make up a valid key",
    ],
    [
      "two members with one key",
      [{ ...extract, rewrite: [{ regexp: { source: "^.*$", target: "same" } }] }],
      "InvalidKey",
      "member 1 of config and member 2 of config make up the same key",
    ],
    [
      "no object",
      [{ extract: { key: "plain" } }],
      "InvalidProperty",
      "plain: the value is not valid JSON",
    ],
    [
      "an array",
      [{ extract: { key: "array" } }],
      "InvalidProperty",
      "array: the value is not a JSON object",
    ],
  ])("of %s are refused, and nothing is created", async (what, dataFrom, reason, message) => {
    const name = nameOf(what);
    await world.protect("array", `["${world.canaries.text("array")}"]`);
    await world.apply(derived(name, { dataFrom }));
    expect(await messageOf(name, reason)).toContain(message);
    expect(await world.get("Secret", name)).toBeUndefined();
  });
});

describe("find", () => {
  const byName = {
    dataFrom: [
      {
        find: { name: { regexp: "^shop-" } },
        rewrite: [{ regexp: { source: "^shop-", target: "" } }],
      },
    ],
  };
  const byMetadata = {
    dataFrom: [{ find: { metadata: { environment_type: "prod", cloud_type: "aws" } } }],
  };
  const metadata = { environment_type: "prod", cloud_type: "aws" };

  test("takes secrets by their names, and a new one with the next list", async () => {
    await world.protect("shop-a", "a");
    await world.protect("my-shop-b", "b");
    expect(await synced("by-name", derived("by-name", byName))).toEqual({ a: "a" });
    await world.protect("shop-c", text);
    const joined = await world.until(
      "Secret",
      "by-name",
      (object) => object.data["c"] !== undefined,
    );
    expect(valuesOf(joined)).toEqual({ a: "a", c: text });
  });

  test("takes secrets by their metadata, and keeps one that has other metadata later", async () => {
    await world.protect("one", "1", { metadata });
    await world.protect("two", "2", { metadata: { ...metadata, cloud_type: "gcp" } });
    await world.protect("three", "3", { metadata });
    expect(await synced("by-metadata", derived("by-metadata", byMetadata))).toEqual({
      one: "1",
      three: "3",
    });
    await world.protect("three", "4", { metadata: { environment_type: "stage" } });
    expect(await messageOf("by-metadata", "SourceMissing")).toContain(
      "three no longer has the metadata that dataFrom[0] requests",
    );
    expect(valuesOf((await world.get("Secret", "by-metadata"))!)).toEqual({ one: "1", three: "3" });
  });

  test("of names that are no valid keys, or those of other keys, is InvalidKey", async () => {
    await world.protect("bad/name", "x");
    await world.apply(
      derived("bad-name", { dataFrom: [{ find: { name: { regexp: "^bad/" } } }] }),
      derived("same-key", {
        data: [{ secretKey: "shop-a", remoteRef: { key: "json" } }],
        dataFrom: [{ find: { name: { regexp: "^shop-" } } }],
      }),
    );
    expect(await messageOf("bad-name", "InvalidKey")).toContain(
      'dataFrom[0] finds "bad/name", which is not a valid key',
    );
    expect(await messageOf("same-key", "InvalidKey")).toContain(
      'finds "shop-a", but the key shop-a is that of "json"',
    );
  });

  test("without a match is SourceMissing, an invalid expression is InvalidSpec", async () => {
    await world.apply(
      derived("no-match", { dataFrom: [{ find: { name: { regexp: "^none-" } } }] }),
      derived("no-expression", { dataFrom: [{ find: { name: { regexp: "^shop-(" } } }] }),
    );
    expect(await messageOf("no-match", "SourceMissing")).toContain(
      "dataFrom[0] finds no entry in the vault's list",
    );
    expect(await messageOf("no-expression", "InvalidSpec")).toContain(
      "spec.dataFrom[0].find.name.regexp: missing closing ) at position 7",
    );
  });

  test("takes files by their names", async () => {
    await world.upload("conf-a.txt", Buffer.from(`${text}\r\n`));
    await world.upload("archive.zip", Buffer.from("PK"));
    const filesFrom = [
      {
        find: { filename: { regexp: "^conf-" } },
        rewrite: [{ regexp: { source: "^conf-", target: "" } }],
      },
    ];
    const resource = {
      ...vaultFile("found", [], { kind: "ConfigMap" }),
      spec: { connectionRef: { name: "vault" }, filesFrom, target: { kind: "ConfigMap" } },
    };
    await world.apply(resource);
    await world.ready("VaultFile", "found");
    const found = await world.until("ConfigMap", "found", () => true);
    expect(found.data).toEqual({ "a.txt": `${text}\r\n` });
  });
});

test.each([
  [
    "a pointer without a slash",
    { data: [{ secretKey: "a", remoteRef: { key: "a", property: "a" } }] },
    /property.*must be a JSON Pointer/,
  ],
  [
    "extract and find in one entry",
    { dataFrom: [{ extract: { key: "a" }, find: { name: { regexp: "a" } } }] },
    /must have either extract or find/,
  ],
  ["find without a condition", { dataFrom: [{ find: {} }] }, /must have name or metadata/],
])("the API server rejects %s", async (_, spec, message) => {
  const { code, stderr } = await world.tryApply(derived("rejected", spec));
  expect(code).toBe(1);
  expect(stderr).toEqual(expect.stringMatching(message));
});

test("no value or name of a member appears in logs, events, statuses, annotations or metrics", async () => {
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});
