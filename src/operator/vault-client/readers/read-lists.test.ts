import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { readFiles, readSecrets } from "./read-lists.ts";

const digest = "0123456789abcdef".repeat(4);
const plain = (version: number, size: number): object => ({ version, size, sha256: undefined });

test.each<[string, unknown]>([
  [
    "all versions inside the entry of the file",
    {
      files: [
        {
          filename: "f",
          version: 2,
          size: 20,
          versions: [
            { version: 1, size: 10 },
            { version: 2, size: 20 },
          ],
        },
      ],
    },
  ],
  [
    "one entry per version",
    {
      files: [
        { filename: "f", version: 2, size: 20 },
        { filename: "f", version: "1", size: "10" },
      ],
    },
  ],
  [
    "a latest version outside the versions",
    { files: [{ filename: "f", version: 2, size: 20, versions: [{ version: 1, size: 10 }] }] },
  ],
])("readFiles reads %s", (_, response) => {
  expect(readFiles(response)).toEqual([
    { filename: "f", ...plain(2, 20), versions: [plain(1, 10), plain(2, 20)] },
  ]);
});

test("readFiles returns a digest in lower case and ignores a malformed one", () => {
  const files = [digest.toUpperCase(), "abc", 7].map((sha256, at) => ({
    filename: `f${at}`,
    version: 1,
    size: 0,
    sha256,
  }));
  expect(readFiles({ files }).map(({ sha256 }) => sha256)).toEqual([digest, undefined, undefined]);
});

test.each<[unknown, string]>([
  [{}, "files"],
  [[], "files"],
  [{ data: [] }, "files"],
  [{ secrets: [] }, "files"],
  [{ files: {} }, "files"],
  [{ files: { f: { version: 1, size: 1 } } }, "files"],
  [[{ filename: "canary", version: 1, size: 1 }], "files"],
  [{ files: [{ version: 1, size: 1 }] }, "files[0].filename"],
  [{ files: [{ filename: "canary", size: 1 }] }, "files[0].version"],
  [{ files: [{ filename: "canary", version: 1 }] }, "files[0].size"],
  [{ files: [{ filename: "canary", version: 1, size: "1 kB" }] }, "files[0].size"],
  [{ files: [{ filename: "canary", version: 1, size: 1, versions: {} }] }, "files[0].versions"],
  [{ files: [{ filename: "canary", version: 1, size: 1, versions: [7] }] }, "files[0].versions[0]"],
  [
    { files: [{ filename: "canary", version: 1, size: 1, versions: [{ version: 1 }] }] },
    "files[0].versions[0].size",
  ],
])("readFiles rejects %j and names %s", async (response, field) => {
  const failure = await failureOf(Promise.resolve().then(() => readFiles(response)));
  expect(failure).toMatchObject({ kind: "unexpected-response", operation: "list_file", field });
  expect(String(failure)).not.toContain("canary");
});

const now = Date.UTC(2026, 10, 21);
const read = (response: unknown): unknown[] =>
  readSecrets(response).map(({ name, version }) => [name, version]);
const fails = (response: unknown): Promise<unknown> =>
  failureOf(Promise.resolve().then(() => readSecrets(response)));

const array = [
  { key_name: "a", key_version: 3 },
  { key_name: "b", key_version: "12" },
];
const map = { a: { key_version: 3 }, b: { key_version: 12 } };

test("readSecrets reads an array under its name, next to other fields", () => {
  expect(read({ secrets: array, data: [], count: 2, error: null })).toEqual([
    ["a", 3],
    ["b", 12],
  ]);
  expect(read({ secrets: [] })).toEqual([]);
});

test.each<[string, unknown, string]>([
  ["an unparsed body", undefined, "secrets"],
  ["an empty root array", [], "secrets"],
  ["an empty root object", {}, "secrets"],
  ["an array at the root", array, "secrets"],
  ["an array under another name", { data: array }, "secrets"],
  ["an empty array under another name", { items: [] }, "secrets"],
  ["the list of files", { files: [] }, "secrets"],
  ["an object keyed by name", map, "secrets"],
  ["an object keyed by name under its name", { secrets: map }, "secrets"],
  ["an empty object under its name", { secrets: {} }, "secrets"],
  ["a list one level down", { data: { secrets: array } }, "secrets"],
  ["an error next to a list", { secrets: [], error: { code: "canary" } }, "secrets"],
  ["null records", { secrets: [null] }, "secrets"],
  ["nested arrays", { secrets: [[]] }, "secrets"],
  ["a record without a name", { secrets: [array[0], { key_version: 1 }] }, "secrets[1].key_name"],
  [
    "a record with another field for the name",
    { secrets: [{ name: "canary", key_version: 1 }] },
    "secrets[0].key_name",
  ],
  [
    "a record with another field for the version",
    { secrets: [{ key_name: "canary", version: 1 }] },
    "secrets[0].key_version",
  ],
  [
    "a name that is not a string",
    { secrets: [{ key_name: 7, key_version: 1 }] },
    "secrets[0].key_name",
  ],
  [
    "a lone surrogate in a name",
    { secrets: [{ key_name: "\ud800", key_version: 1 }] },
    "secrets[0].key_name",
  ],
  ["a missing version", { secrets: [{ key_name: "canary" }] }, "secrets[0].key_version"],
  [
    "a negative version",
    { secrets: [{ key_name: "canary", key_version: -1 }] },
    "secrets[0].key_version",
  ],
  [
    "a fractional version",
    { secrets: [{ key_name: "canary", key_version: 1.5 }] },
    "secrets[0].key_version",
  ],
  [
    "a version beyond exact integers",
    { secrets: [{ key_name: "canary", key_version: 2 ** 53 }] },
    "secrets[0].key_version",
  ],
  [
    "a version of 17 digits",
    { secrets: [{ key_name: "canary", key_version: "9".repeat(17) }] },
    "secrets[0].key_version",
  ],
  [
    "a version in exponent notation",
    { secrets: [{ key_name: "canary", key_version: "1e3" }] },
    "secrets[0].key_version",
  ],
])("readSecrets rejects the whole list for %s and names the field", async (_, response, field) => {
  const failure = await fails(response);
  expect(failure).toMatchObject({ kind: "unexpected-response", operation: "list_no_dup", field });
  expect(String(failure)).not.toContain("canary");
});

test("readSecrets returns undefined for fields that a record omits", () => {
  expect(
    readSecrets({
      secrets: [{ key_name: "a", key_version: 1, owner: null, shared: "yes", delete_at: "soon" }],
    }),
  ).toEqual([
    {
      name: "a",
      owner: undefined,
      version: 1,
      shared: undefined,
      metadata: {},
      expiresAt: undefined,
      deleteAt: undefined,
      createdAt: undefined,
    },
  ]);
});

test.each([
  ["2026-11-21T00:00:00.000Z", now],
  [now, now],
  [now / 1000, now],
  [6e16, 6e16],
  ["", undefined],
  [0, undefined],
  [true, undefined],
])("readSecrets parses the timestamp %j as %j", (delete_at, deleteAt) => {
  expect(
    readSecrets({ secrets: [{ key_name: "a", key_version: 1, delete_at }] })[0]?.deleteAt,
  ).toBe(deleteAt);
});

test.each<[string, object, object]>([
  [
    "nested",
    { metadata: { classification: "top", team: null } },
    { classification: "top", team: null },
  ],
  [
    "flat",
    { classification: "top", description: "d", other: 1 },
    { classification: "top", description: "d" },
  ],
  [
    "nested preferred to flat",
    { classification: "flat", metadata: { classification: "nested" } },
    { classification: "nested" },
  ],
  ["the misspelled name", { metadata: { enviroment_type: "dev" } }, { environment_type: "dev" }],
  [
    "the correct spelling first",
    { metadata: { enviroment_type: "x", environment_type: "dev" } },
    { environment_type: "dev" },
  ],
])("readSecrets reads metadata: %s", (_, record, metadata) => {
  expect(
    readSecrets({ secrets: [{ key_name: "a", key_version: 1, ...record }] })[0]?.metadata,
  ).toEqual(metadata);
});

test("readSecrets treats __proto__ and constructor as ordinary names", () => {
  const text =
    '{"secrets":[{"key_name":"__proto__","key_version":1,"metadata":{"__proto__":{"polluted":1},"constructor":2}}]}';
  const [record] = readSecrets(JSON.parse(text));
  expect(record?.name).toBe("__proto__");
  expect(Object.keys(record?.metadata ?? {})).toEqual(["__proto__", "constructor"]);
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
});

test("readSecrets keeps the highest version per owner and name", () => {
  const records = readSecrets({
    secrets: [
      { key_name: "a", key_version: 2, owner: "x" },
      { key_name: "a", key_version: 10, owner: "x" },
      { key_name: "a", key_version: 9, owner: "x" },
      { key_name: "a", key_version: 1, owner: "y" },
    ],
  });
  expect(records.map(({ owner, version }) => [owner, version])).toEqual([
    ["x", 10],
    ["y", 1],
  ]);
});
