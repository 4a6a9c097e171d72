import { expect, test } from "vitest";
import { type Origin, Origins } from "./origins.ts";

const toBase64 = (text: string): string => Buffer.from(text).toString("base64");
const VALUE = toBase64("cnry-1-s1.");

const origin = (name: string, version: number, whole = VALUE): Origin => ({
  kind: "secret",
  vault: "a",
  owner: "ops-one@example.com",
  name,
  versions: new Set([version]),
  at: 0,
  order: 1,
  whole,
  parts: new Map(),
  metadata: [],
});

test("bytes that were copied have the origin that a resource names, or else the first one", () => {
  const origins = new Origins();
  origins.add(origin("s1", 4));
  origins.add(origin("p1", 1));
  expect(origins.of(VALUE)?.name).toBe("s1");
  expect(origins.meaning(["p1"], () => origins.of(VALUE)?.name)).toBe("p1");
  expect(origins.meaning(["other"], () => origins.of(VALUE)?.name)).toBe("s1");
});

test("a value that is written again has both versions", () => {
  const origins = new Origins();
  origins.add(origin("p1", 1));
  origins.add(origin("p1", 3));
  expect([...(origins.of(VALUE)?.versions ?? [])]).toEqual([1, 3]);
});

test("versions that were made of one value have one set of versions", () => {
  const origins = new Origins();
  const [first, second] = [toBase64("x:cnry-1-s1."), toBase64("x:x:cnry-1-s1.")];
  origins.add(origin("l1", 2, first), [1]);
  origins.add(origin("l1", 3, second), [1]);
  expect([first, second].map((base64) => [...(origins.of(base64)?.versions ?? [])])).toEqual([
    [2, 3],
    [2, 3],
  ]);
});

test("bytes of a template are of its source, until a resource names the entry with a copy", () => {
  const origins = new Origins();
  const rendered = toBase64("tmpl:cnry-1-s1.");
  origins.add(origin("s1", 4));
  origins.add(origin("p1", 1, rendered));
  expect(origins.meaning(["s1"], () => origins.in(rendered).map(({ name }) => name))).toEqual([
    "s1",
  ]);
  expect(origins.meaning(["p1"], () => origins.in(rendered).map(({ name }) => name))).toEqual([
    "p1",
  ]);
});
