import { expect, test } from "vitest";
import { failureOf } from "../../../../test/support/assertions/failure-of.ts";
import { readSecrets } from "./read-secrets.ts";

const now = Date.UTC(2026, 10, 21);
const read = (answer: unknown): unknown[] => readSecrets(answer, now).map(({ name, version }) => [name, version]);
const fails = (answer: unknown): Promise<unknown> => failureOf(Promise.resolve().then(() => readSecrets(answer, now)));

const array = [
  { key_name: "a", key_version: 3 },
  { key_name: "b", key_version: "12" },
];
const map = { a: { key_version: 3 }, b: { version: "12" } };

test.each<[string, unknown]>([
  ["an array under its name", { secrets: array }],
  ["an array at the root", array],
  ["an array under a common name, beside other things", { data: array, count: 2, ok: true }],
  ["an array under a name nobody knows", { my_secrets: array, warnings: [], page: { next: null } }],
  ["an object keyed by name at the root", map],
  ["an object keyed by name one level down", { secrets: map }],
  ["an object keyed by name under a name nobody knows", { result_set: map, page: {} }],
])("reads %s", (_, answer) => {
  expect(read(answer)).toEqual([
    ["a", 3],
    ["b", 12],
  ]);
});

test.each<[string, unknown]>([
  ["array", { secrets: [] }],
  ["object", { secrets: {} }],
  ["array under a common name", { items: [] }],
])("an empty list is one under a name we know: %s", (_, answer) => {
  expect(read(answer)).toEqual([]);
});

test.each<[string, unknown, string]>([
  ["nothing", undefined, "secrets"],
  ["an empty root array", [], "secrets"],
  ["an empty root object", {}, "secrets"],
  ["two lists that could be it", { mine: array, theirs: array }, "secrets"],
  ["two common names", { data: [], items: [] }, "secrets"],
  ["an empty list under a name nobody knows", { warnings: [] }, "secrets"],
  ["an error beside a list", { secrets: [], error: { code: "canary" } }, "secrets"],
  ["null records", { secrets: [null] }, "secrets"],
  ["nested arrays", { secrets: [[]] }, "secrets"],
  ["a record without a name", { secrets: [array[0], { key_version: 1 }] }, "secrets[1].key_name"],
  ["a name that is no text", { secrets: [{ key_name: 7, key_version: 1 }] }, "secrets[0].key_name"],
  ["a lone surrogate in a name", { secrets: [{ key_name: "\ud800", key_version: 1 }] }, "secrets[0].key_name"],
  ["a missing version", { secrets: [{ key_name: "canary" }] }, "secrets[0].key_version"],
  ["a negative version", { secrets: [{ key_name: "canary", key_version: -1 }] }, "secrets[0].key_version"],
  ["a fraction", { secrets: [{ key_name: "canary", key_version: 1.5 }] }, "secrets[0].key_version"],
  ["beyond exact integers", { secrets: [{ key_name: "canary", key_version: 2 ** 53 }] }, "secrets[0].key_version"],
  ["a long digit string", { secrets: [{ key_name: "canary", key_version: "9".repeat(17) }] }, "secrets[0].key_version"],
  ["a text as version", { secrets: [{ key_name: "canary", key_version: "1e3" }] }, "secrets[0].key_version"],
])("%s makes the whole list unreadable, and the error names the field", async (_, answer, field) => {
  const failure = await fails(answer);
  expect(failure).toMatchObject({ kind: "unexpected-response", operation: "list_no_dup", field });
  expect(String(failure)).not.toContain("canary");
});

test("a sparse record leaves unsaid what the list does not say", () => {
  expect(
    readSecrets({ secrets: [{ key_name: "a", key_version: 1, owner: null, shared: "yes", delete_at: "soon" }] }, now),
  ).toEqual([
    {
      name: "a",
      owner: undefined,
      version: 1,
      shared: undefined,
      metadata: {},
      expiresAt: undefined,
      expired: false,
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
])("a moment %j is %j", (delete_at, deleteAt) => {
  expect(readSecrets({ secrets: [{ key_name: "a", key_version: 1, delete_at }] }, now)[0]?.deleteAt).toBe(deleteAt);
});

test("expired is what the list says, else what its moment says", () => {
  const expired = (more: object): unknown =>
    readSecrets({ secrets: [{ key_name: "a", key_version: 1, ...more }] }, now)[0]?.expired;
  expect([
    expired({ expires_at: now }),
    expired({ expires_at: now + 1 }),
    expired({ expires_at: now, expired: false }),
    expired({ expired: true }),
  ]).toEqual([true, false, false, true]);
});

test.each<[string, object, object]>([
  ["nested", { metadata: { classification: "top", team: null } }, { classification: "top", team: null }],
  ["flat", { classification: "top", description: "d", other: 1 }, { classification: "top", description: "d" }],
  ["nested before flat", { classification: "flat", metadata: { classification: "nested" } }, { classification: "nested" }],
  ["the other spelling", { metadata: { enviroment_type: "dev" } }, { environment_type: "dev" }],
  ["the right spelling first", { metadata: { enviroment_type: "x", environment_type: "dev" } }, { environment_type: "dev" }],
])("metadata: %s", (_, record, metadata) => {
  expect(readSecrets({ secrets: [{ key_name: "a", key_version: 1, ...record }] }, now)[0]?.metadata).toEqual(metadata);
});

test("names and metadata that are special to the language are ordinary", () => {
  const text = '{"secrets":[{"key_name":"__proto__","key_version":1,"metadata":{"__proto__":{"polluted":1},"constructor":2}}]}';
  const [record] = readSecrets(JSON.parse(text), now);
  expect(record?.name).toBe("__proto__");
  expect(Object.keys(record?.metadata ?? {})).toEqual(["__proto__", "constructor"]);
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
});

test("of several versions of one owner's name the highest is the record; other owners' are their own", () => {
  const records = readSecrets(
    {
      secrets: [
        { key_name: "a", key_version: 2, owner: "x" },
        { key_name: "a", key_version: 10, owner: "x" },
        { key_name: "a", key_version: 9, owner: "x" },
        { key_name: "a", key_version: 1, owner: "y" },
      ],
    },
    now,
  );
  expect(records.map(({ owner, version }) => [owner, version])).toEqual([
    ["x", 10],
    ["y", 1],
  ]);
});
