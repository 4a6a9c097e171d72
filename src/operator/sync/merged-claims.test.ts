import { expect, test } from "vitest";
import { syncResource } from "../../../test/lab/kube/sync-resource.ts";
import { CONTENT_ANNOTATION, SOURCES_ANNOTATION, VERSIONS_ANNOTATION } from "../api/names.ts";
import { formatClaims, mergeAnnotation, mergeManager, parseClaims } from "./merged-claims.ts";

const named = (name: string) => syncResource([], { name });

test("names of resources become annotations and field managers, unchanged where they fit", () => {
  expect(mergeAnnotation(named("shop-db"))).toBe("merge.vaultsync.dev/vaultsecret.shop-db");
  expect(mergeManager(named("shop-db"))).toBe("vaultsync:VaultSecret/shop-db");
});

test("names that are too long are distinguished by a digest", () => {
  const [first, second] = [named(`${"x".repeat(252)}1`), named(`${"x".repeat(252)}2`)];
  expect(mergeAnnotation(first)).toMatch(/^merge\.vaultsync\.dev\/vaultsecret\.[0-9a-f]{16}$/);
  expect(mergeManager(first)).toMatch(/^vaultsync:VaultSecret\/[0-9a-f]{16}$/);
  expect(mergeAnnotation(first)).not.toBe(mergeAnnotation(second));
  expect(mergeManager(first)).not.toBe(mergeManager(second));
});

const nameOf = (text: string): string => text.split("/").at(-1) ?? "";

test("names are distinguished only when they are longer than the API server accepts", () => {
  const annotated = "x".repeat(63 - "vaultsecret.".length);
  expect(nameOf(mergeAnnotation(named(annotated)))).toBe(`vaultsecret.${annotated}`);
  expect(nameOf(mergeAnnotation(named(`${annotated}y`)))).toMatch(/^vaultsecret\.[0-9a-f]{16}$/);
  const managing = "x".repeat(128 - "vaultsync:VaultSecret/".length);
  expect(mergeManager(named(managing))).toBe(`vaultsync:VaultSecret/${managing}`);
  expect(nameOf(mergeManager(named(`${managing}y`)))).toMatch(/^[0-9a-f]{16}$/);
});

const db = named("db");
const claims = {
  [CONTENT_ANNOTATION]: "digest",
  [VERSIONS_ANNOTATION]: '{"a":3}',
  [SOURCES_ANNOTATION]: '{"a":"x"}',
};

test("the claims of a resource are read from its own annotation", () => {
  const annotations = { [mergeAnnotation(db)]: formatClaims({ ...claims, note: "of others" }) };
  expect(parseClaims(db, annotations)).toEqual(claims);
  expect(parseClaims(named("other"), annotations)).toEqual({});
});

test.each([
  "",
  "{",
  "null",
  "[]",
  '{"content":"digest"}',
  '{"content":1,"versions":"{}","sources":"{}"}',
])("malformed claims count as none: %j", (text) => {
  expect(parseClaims(db, { [mergeAnnotation(db)]: text })).toEqual({});
});
