import { expect, test } from "vitest";
import { secretRecord } from "../../lab/vault/secret-record.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";
import { patternReference } from "../../../src/operator/vault-client/pattern.ts";
import { ListSnapshot } from "../../../src/operator/vault-client/mirror/list-snapshot.ts";
import { readListAside } from "../../../src/operator/vault-client/mirror/list-reader.ts";
import { readList, trackRecords } from "../../../src/operator/vault-client/mirror/read-list.ts";
import {
  changeBetween,
  recreatedNames,
} from "../../../src/operator/vault-client/mirror/snapshot-change.ts";

const SHOP = patternReference("^shop-");
const ALL = patternReference("");

let lists = 0;

/** Returns the snapshot after one with a list of these secrets, searched for these references. */
function snapshot(
  secrets: readonly Partial<SecretRecord>[],
  references: readonly string[],
  before?: ListSnapshot,
): ListSnapshot {
  lists += 1;
  const progress = { lists, at: lists, previousAt: -Infinity };
  const origin = {
    listedAt: lists,
    listedAtMonotonic: lists,
    progress: { secret: progress, file: progress },
  };
  const records = secrets.map((changes) => secretRecord(changes));
  return new ListSnapshot(origin, trackRecords(records, new Set(references)), undefined, before);
}

const named = (...names: readonly string[]): Partial<SecretRecord>[] =>
  names.map((name) => ({ name }));
const changed = (before: ListSnapshot | undefined, after: ListSnapshot): string[] =>
  [...changeBetween(before, after).secrets].sort();

test("the entries that match a pattern are kept, and no others", () => {
  const { secretList, secretCount } = snapshot(named("shop-a", "other", "shop-b", "db"), [
    SHOP,
    "db",
  ]);
  expect([...secretList.records.keys()]).toEqual(["shop-a", "shop-b", "db"]);
  expect(secretCount).toBe(4);
});

test("the names that match a pattern are those that the list has", () => {
  const listed = snapshot(named("shop-a", "other", "shop-b"), [
    SHOP,
    ALL,
    patternReference("^none$"),
  ]);
  expect([...listed.matching("secret", SHOP)]).toEqual(["shop-a", "shop-b"]);
  expect([...listed.matching("secret", ALL)]).toEqual(["shop-a", "other", "shop-b"]);
  expect([...listed.matching("secret", patternReference("^none$"))]).toEqual([]);
});

test("a pattern covers itself and every name that matches it, listed or not", () => {
  const listed = snapshot(named("shop-a"), [SHOP]);
  const covered = ["shop-a", "shop-gone", "other", SHOP, ALL].map((reference) =>
    listed.covers("secret", reference),
  );
  expect(covered).toEqual([true, true, false, true, false]);
});

test("only matching names change, and the patterns that match them", () => {
  const before = snapshot(named("shop-a", "shop-b", "shop-c", "other"), [SHOP, ALL, "db"]);
  const shopOnly = snapshot(
    [...named("shop-a", "other"), { name: "shop-b", version: 9 }, { name: "shop-new" }],
    [SHOP, ALL, "db"],
    before,
  );
  expect(changed(before, shopOnly)).toEqual([ALL, SHOP, "shop-b", "shop-c", "shop-new"].sort());
  expect(
    changed(
      shopOnly,
      snapshot(
        [...named("shop-a"), { name: "shop-b", version: 9 }, { name: "shop-new" }],
        [SHOP, ALL],
        shopOnly,
      ),
    ),
  ).toEqual([ALL, "other"]);
});

test("a list without a difference has no change", () => {
  const before = snapshot(named("shop-a", "db"), [SHOP, "db"]);
  expect(changed(before, snapshot(named("shop-a", "db"), [SHOP, "db"], before))).toEqual([]);
});

test("a pattern that the list before does not cover is a change, also if nothing matches it", () => {
  const before = snapshot(named("shop-a", "db"), ["db"]);
  expect(changed(before, snapshot(named("shop-a", "db"), ["db", SHOP], before))).toEqual([
    SHOP,
    "shop-a",
  ]);
  expect(changed(before, snapshot(named("db"), ["db", SHOP], before))).toEqual([SHOP]);
  expect(changed(undefined, snapshot(named("shop-a"), [SHOP]))).toEqual([SHOP, "shop-a"]);
});

test("a matching name that was gone and is back counts as recreated", () => {
  const first = snapshot(named("shop-a"), [SHOP]);
  const gone = snapshot([], [SHOP], first);
  expect(recreatedNames(first, gone, changeBetween(first, gone)).secrets.has("shop-a")).toBe(true);
});

test("the absence of a matching name begins with the first list without it", () => {
  const first = snapshot(named("shop-a"), [SHOP]);
  const second = snapshot([], [SHOP], first);
  const third = snapshot([], [SHOP], second);
  expect(third.missingSince("shop-a", undefined)).toBe(second.listedAt);
});

test("a long list is read in a thread with the same result", async () => {
  const secrets = Array.from({ length: 6_000 }, (_, at) => ({
    key_name: `${at % 2 === 0 ? "shop" : "other"}-${at}`,
    key_version: 1,
    x: "x".repeat(60),
  }));
  const body = (): Uint8Array => new TextEncoder().encode(JSON.stringify({ secrets }));
  expect(body().byteLength).toBeGreaterThan(512 * 1024);
  const tracked = new Set([SHOP, "other-1"]);
  const source = { tracked, maxBytes: 16 * 1024 * 1024 };
  const aside = await readListAside("list_no_dup", { body: body(), ...source }, "shop/");
  expect(aside).toEqual(readList("list_no_dup", { body: body(), ...source }));
  expect(aside.found.get(SHOP)?.size).toBe(3_000);
});
