import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { secretRecord } from "../../../../test/lab/vault/secret-record.ts";
import { readValue } from "./read-value.ts";

const record = secretRecord({ name: "a", owner: "Ann@example.com", version: 7 });
const read = (response: unknown): [string, number] => {
  const { bytes, version } = readValue("version_expose", response, record, 7);
  return [Buffer.from(bytes.reveal()).toString(), version];
};

test.each<[string, unknown, [string, number]]>([
  [
    "at the root",
    { key_name: "a", key_value: "v", key_version: 7, owner: "ann@EXAMPLE.com" },
    ["v", 7],
  ],
  ["one level down", { secret: { key_value: "v", key_version: "6" }, ok: true }, ["v", 6]],
  [
    "one level down with the version at the root",
    { key_version: 6, data: { key_value: "v" } },
    ["v", 6],
  ],
  ["without a version", { key_value: "v" }, ["v", 7]],
  ["empty", { key_value: "" }, ["", 7]],
  [
    "that looks like a response",
    { key_value: '{"key_value":"inner"}' },
    ['{"key_value":"inner"}', 7],
  ],
])("readValue reads a value %s", (_, response, expected) => {
  expect(read(response)).toEqual(expected);
});

test.each<[unknown, string]>([
  [undefined, "key_value"],
  [{}, "key_value"],
  [[{ key_value: "canary" }], "key_value"],
  [{ key_value: null }, "key_value"],
  [{ key_value: 7 }, "key_value"],
  [{ key_value: { inner: "canary" } }, "key_value"],
  [{ key_value: "canary\ud800" }, "key_value"],
  [{ a: { key_value: "canary" }, b: { key_value: "canary" } }, "key_value"],
  [{ a: { b: { key_value: "canary" } } }, "key_value"],
  [{ key_value: "canary", key_version: "latest" }, "key_version"],
  [{ key_value: "canary", key_name: "b" }, "key_name"],
  [{ key_name: "b", data: { key_value: "canary" } }, "key_name"],
  [{ key_value: "canary", owner: "bob@example.com" }, "owner"],
])("readValue rejects %j and names %s", async (response, field) => {
  const failure = await failureOf(Promise.resolve().then(() => read(response)));
  expect(failure).toMatchObject({
    kind: "unexpected-response",
    operation: "version_expose",
    field,
  });
  expect(String(failure)).not.toContain("canary");
});
