import { expect, test } from "vitest";
import {
  ALL_NAMESPACES,
  collectionPath,
  EVENTS,
  keyOf,
  namespaceOf,
  NAMESPACES,
  pathOf,
  SECRETS,
} from "./resource.ts";

test("paths of core resources start with /api, those of groups with /apis", () => {
  expect(pathOf(SECRETS, { namespace: "a", name: "s" })).toBe("/api/v1/namespaces/a/secrets/s");
  expect(pathOf(EVENTS, { namespace: "a", name: "e" })).toBe(
    "/apis/events.k8s.io/v1/namespaces/a/events/e",
  );
  expect(pathOf(NAMESPACES, { name: "a" }, "status")).toBe("/api/v1/namespaces/a/status");
  expect(collectionPath(SECRETS, ALL_NAMESPACES)).toBe("/api/v1/secrets");
});

test("a missing namespace or name is an error and never selects a wider scope", () => {
  expect(() => pathOf(SECRETS, { name: "s" })).toThrow(RangeError);
  expect(() => collectionPath(SECRETS, "")).toThrow(RangeError);
  expect(() => pathOf(SECRETS, { namespace: "a", name: "" })).toThrow(RangeError);
  expect(() => pathOf(NAMESPACES, { namespace: "a", name: "a" })).toThrow(RangeError);
});

test("a name with slashes or dots cannot change the path", () => {
  expect(pathOf(SECRETS, { namespace: "../b", name: "x/status?a=b#c" })).toBe(
    "/api/v1/namespaces/..%2Fb/secrets/x%2Fstatus%3Fa%3Db%23c",
  );
  expect(() => pathOf(SECRETS, { namespace: "a", name: ".." })).toThrow(RangeError);
});

test("a key is namespace/name, or the name of a cluster-scoped object", () => {
  expect(keyOf({ namespace: "a", name: "b" })).toBe("a/b");
  expect(keyOf({ name: "c" })).toBe("c");
  expect(["a/b", "c"].map(namespaceOf)).toEqual(["a", ""]);
});
