import { expect, test } from "vitest";
import { Verified } from "./verified.ts";

test("a state is known by target, object and resourceVersion, and never by less", () => {
  const verified = new Verified();
  verified.mark("Secret/shop/db", "u1", "5", "Opaque");
  expect(verified.isState("Secret/shop/db", "u1", "5")).toBe(true);
  expect(verified.isState("Secret/shop/db", "u1", "6")).toBe(false);
  expect(verified.isState("Secret/shop/db", "u2", "5")).toBe(false);
  expect(verified.isState("ConfigMap/shop/db", "u1", "5")).toBe(false);
});

test("it is right only for who asks for its type", () => {
  const verified = new Verified();
  verified.mark("Secret/shop/db", "u1", "5", "Opaque");
  expect(verified.has("Secret/shop/db", "u1", "5", "Opaque")).toBe(true);
  expect(verified.has("Secret/shop/db", "u1", "5", "kubernetes.io/tls")).toBe(false);
  expect(verified.has("Secret/shop/db", "u1", "5", undefined)).toBe(false);
  expect(verified.has("Secret/shop/db", "u1", "6", "Opaque")).toBe(false);
});

test("only the last state counts, and none once it is forgotten", () => {
  const verified = new Verified();
  verified.mark("t", "u1", "5", undefined);
  verified.mark("t", "u1", "6", undefined);
  expect(verified.isState("t", "u1", "5")).toBe(false);
  verified.forget("t");
  expect(verified.has("t", "u1", "6", undefined)).toBe(false);
});
