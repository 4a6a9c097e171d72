import { expect, test } from "vitest";
import { Redacted } from "../../../lib/redacted.ts";
import { ValueCache, type CacheKey } from "./value-cache.ts";

const ENTRY = 256 + 10;
const bytes = (length = 10): Redacted<Uint8Array> => new Redacted(new Uint8Array(length));

function key(more: Partial<CacheKey> = {}): CacheKey {
  return { connection: 1, kind: "secret", name: "a", owner: "ann", version: 1, ...more };
}

test("returns an entry for exactly its key", () => {
  const cache = new ValueCache(10_000);
  const value = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  cache.set(key(), new Redacted(value.subarray(1)));
  expect([...(cache.get(key())?.reveal() ?? [])]).toEqual([...value.subarray(1)]);
  const others = [
    { connection: 2 },
    { kind: "file" as const },
    { name: "b" },
    { owner: undefined },
    { version: 2 },
  ];
  for (const other of others) expect(cache.get(key(other))).toBeUndefined();
});

test("stays within its size and evicts the least recently used entry", () => {
  const cache = new ValueCache(3 * ENTRY);
  for (const name of ["a", "b", "c"]) cache.set(key({ name }), bytes());
  cache.get(key({ name: "a" }));
  cache.set(key({ name: "d" }), bytes());
  expect(["a", "b", "c", "d"].filter((name) => cache.get(key({ name })))).toEqual(["a", "c", "d"]);
  expect(cache.bytes).toBe(3 * ENTRY);
});

test("does not store an entry larger than the cache and evicts nothing for it", () => {
  const cache = new ValueCache(2 * ENTRY);
  cache.set(key(), bytes());
  cache.set(key({ name: "b" }), bytes(2 * ENTRY));
  expect(cache.get(key()) !== undefined).toBe(true);
  expect(cache.get(key({ name: "b" }))).toBeUndefined();
});

test("replacing an entry counts it once, and forget releases its bytes", () => {
  const cache = new ValueCache(10_000);
  for (let time = 0; time < 5; time += 1) cache.set(key(), bytes());
  expect(cache.bytes).toBe(ENTRY);
  cache.forget((one) => JSON.stringify(one) !== JSON.stringify(key()));
  expect(cache.bytes).toBe(ENTRY);
  cache.forget(({ name }) => name === "a");
  expect(cache.bytes).toBe(0);
  expect(cache.get(key())).toBeUndefined();
});

test("a size of 0 disables the cache", () => {
  const cache = new ValueCache(0);
  cache.set(key(), bytes(0));
  expect(cache.get(key())).toBeUndefined();
});

test("newConnection returns unique numbers", () => {
  const cache = new ValueCache(0);
  expect(cache.newConnection()).not.toBe(cache.newConnection());
});
