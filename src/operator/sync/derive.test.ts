import { expect, test } from "vitest";
import { syncItem, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import { derive, type Input } from "./derive.ts";
import type { SyncResource } from "./sync-resource.ts";

const SECRET = "hunter2-of-the-value";
const input = (id: string, value: string, isExtracted = false): Input => ({
  item: syncItem(id, { source: `${id}-source`, isExtracted }),
  bytes: new TextEncoder().encode(value),
  version: 1,
});
const config = (value: string, index = 0): Input => input(`dataFrom[${index}]`, value, true);

/** Returns the values of a target by key, or the reason and the message. */
function derived(inputs: readonly Input[], type = "Opaque"): Record<string, string> | string {
  const resource = syncResource(
    inputs.map(({ item }) => item),
    { target: { kind: "Secret", name: "db", type } },
  );
  const content = derive(resource, inputs);
  if ("reason" in content) return `${content.reason}: ${content.message}`;
  return Object.fromEntries(
    [...content].map(([key, bytes]) => [key, Buffer.from(bytes).toString()]),
  );
}

test("the keys of items and the members of objects make up the content", () => {
  expect(derived([input("password", "p"), config('{"user": "u", "port": 5432}')])).toEqual({
    password: "p",
    user: "u",
    port: "5432",
  });
});

test("__proto__ is a key like any other", () => {
  const content = derive(syncResource([]), [config('{"__proto__": "x"}')]);
  expect("reason" in content ? [] : [...content.keys()]).toEqual(["__proto__"]);
});

test.each([
  [
    "an item and a member",
    [input("user", "u"), config(`{"${SECRET}": 1, "user": "x"}`)],
    "the key user and member 2 of dataFrom[0]-source",
  ],
  [
    "members of two objects",
    [config('{"a": 1}'), config('{"b": 1, "a": 1}', 1)],
    "member 1 of dataFrom[0]-source and member 2 of dataFrom[1]-source",
  ],
  [
    "two members of one object",
    [config('{"a": 1, "a": 2}')],
    "member 1 of dataFrom[0]-source and member 2 of dataFrom[0]-source",
  ],
])("%s of one name are InvalidKey", (_, inputs, places) => {
  expect(derived(inputs)).toBe(
    `InvalidKey: ${places} make up the same key of the target: rename one of them, or set rewrite`,
  );
});

test.each(["", "a b", "a/b", "..", ".", "é", "x".repeat(254)])(
  "the member name %j is InvalidKey and is not quoted",
  (name) => {
    const message = derived([config(JSON.stringify({ ok: 1, [name]: SECRET }))]);
    expect(message).toMatch(
      /^InvalidKey: member 2 of dataFrom\[0\]-source does not make up a valid key/,
    );
    expect(message).not.toContain(SECRET);
  },
);

test("rewrite makes keys of the names of members, one rule after the other", () => {
  const rewrite = [
    { source: "[^a-z]+", target: "." },
    { source: "^db[.](.*)$", target: "$1" },
  ];
  const item = syncItem("dataFrom[0]", { source: "config", isExtracted: true, rewrite });
  const one = (value: string): Input => ({ ...input("", value), item });
  expect(derived([one('{"db/user name": "u", "port": 1}')])).toEqual({
    "user.name": "u",
    port: "1",
  });
  expect(derived([one('{"db/a": 1, "db a": 2}')])).toMatch(
    /^InvalidKey: member 1 of config and member 2 of config make up the same key/,
  );
});

test.each([
  ["alone", []],
  ["next to a key", [input("a", "x")]],
  ["next to another object", [config('{"user": "u"}', 1)]],
])(
  "an object without members %s is InvalidProperty: all its keys would leave the target",
  (_, others) => {
    expect(derived([config(" { } "), ...others])).toBe(
      "InvalidProperty: version 1 of dataFrom[0]-source is a JSON object without members, so it makes up no key: store a version with members, or remove the entry from spec.dataFrom",
    );
  },
);

test("an object without members is InvalidProperty also where a template uses its members", () => {
  const template = { data: {}, annotations: {}, labels: {} };
  const resource = { ...syncResource([]), template } as unknown as SyncResource;
  expect(derive(resource, [config("{}")])).toMatchObject({ reason: "InvalidProperty" });
});

test("a key that the type requires and no source has is InvalidKey", () => {
  expect(derived([config('{"tls.crt": "c"}')], "kubernetes.io/tls")).toBe(
    "InvalidKey: a Secret of type kubernetes.io/tls requires the keys tls.key, which its sources do not have",
  );
  expect(derived([config('{"tls.crt": "c"}'), input("tls.key", "k")], "kubernetes.io/tls")).toEqual(
    {
      "tls.crt": "c",
      "tls.key": "k",
    },
  );
});

test("an input that is not what its item requests is reported", () => {
  expect(derived([config("[]")])).toMatch(/^InvalidProperty: dataFrom\[0\]-source: /);
});
