import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { patternReference } from "../pattern.ts";
import { readListAside } from "./list-reader.ts";
import { readList } from "./read-list.ts";

const maxBytes = 16 * 1024 * 1024;

function longList(entries: number, version: unknown = 1): Uint8Array {
  const record = (at: number): object => ({
    key_name: `name-${at}`,
    key_version: version,
    owner: "ann@example.com",
    metadata: { description: "x".repeat(60) },
  });
  return Buffer.from(
    JSON.stringify({ secrets: Array.from({ length: entries }, (_, at) => record(at)) }),
  );
}

test("a long list is read like a short one", async () => {
  const source = {
    body: longList(20_000),
    tracked: new Set(["name-7", "name-19999", "absent"]),
    maxBytes,
  };
  expect(source.body.byteLength).toBeGreaterThan(2 * 1024 * 1024);
  const expected = readList("list_no_dup", source);
  const list = await readListAside("list_no_dup", source, "shop/");
  expect(list).toEqual(expected);
  expect(list.count).toBe(20_000);
  expect([...list.records.keys()]).toEqual(["name-7", "name-19999"]);
  expect(list.tracked).toEqual(source.tracked);
});

test("a long list with many referenced names is received whole", async () => {
  const source = {
    body: longList(20_000),
    tracked: new Set(Array.from({ length: 3_500 }, (_, at) => `name-${at}`)),
    maxBytes,
  };
  const expected = readList("list_no_dup", source);
  expect(await readListAside("list_no_dup", source, "shop/")).toEqual(expected);
});

test("an unreadable long list names the field", async () => {
  const source = { body: longList(20_000, "NaN"), tracked: new Set<string>(), maxBytes };
  expect(await failureOf(readListAside("list_no_dup", source, "shop/"))).toMatchObject({
    kind: "unexpected-response",
    field: expect.stringContaining("secrets"),
  });
});

test("the event loop continues while a long list is read", async () => {
  const source = { body: longList(100_000), tracked: new Set(["name-1"]), maxBytes };
  let turns = 0;
  let reading = true;
  const count = (): void => {
    turns += 1;
    if (reading) setImmediate(count);
  };
  setImmediate(count);
  await readListAside("list_no_dup", source, "shop/");
  reading = false;
  // Read in place, it would end before the first turn.
  expect(turns).toBeGreaterThan(10);
});

test("a list whose matches of patterns need more memory than a thread gets is too long", async () => {
  const tracked = new Set(Array.from({ length: 600 }, (_, at) => patternReference(`^name-|${at}`)));
  const source = { body: longList(7_000), tracked, maxBytes: 1024 * 1024 };
  expect(await failureOf(readListAside("list_no_dup", source, "shop/"))).toMatchObject({
    code: "list_too_long",
    excess: expect.stringContaining("memory"),
    retryAfterMs: 300_000,
  });
});
