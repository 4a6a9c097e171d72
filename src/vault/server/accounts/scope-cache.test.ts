import { expect, test } from "vitest";
import { ScopeCache } from "./scope-cache.ts";
import { InvalidScopeError } from "../../../protocol/scope.ts";

const text = (name: string): string =>
  `cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:${name}`;

test("ScopeCache parses a scope once and drops the oldest of more than 500", () => {
  const cache = new ScopeCache();
  const first = cache.parse(text("first"));
  expect(first.secret_name).toEqual(new Set(["first"]));
  for (let index = 1; index < 500; index += 1) cache.parse(text(String(index)));
  expect(cache.parse(text("first"))).toBe(first);
  cache.parse(text("500"));
  expect(cache.parse(text("first"))).not.toBe(first);
});

test("ScopeCache rejects an invalid scope every time", () => {
  const cache = new ScopeCache();
  for (let count = 0; count < 2; count += 1)
    expect(() => cache.parse("x")).toThrow(InvalidScopeError);
});

test("ScopeCache does not remember a scope of more than 8 KiB", () => {
  const cache = new ScopeCache();
  const long = text("x".repeat(8192));
  expect(cache.parse(long)).not.toBe(cache.parse(long));
});
