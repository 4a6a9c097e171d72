import { expect, test } from "vitest";
import { joinChunks } from "./read-body.ts";

test("returns the bytes of all chunks in order", async () => {
  const chunks = [[1, 2], [], [3], [4, 5, 6]].map((bytes) => Uint8Array.from(bytes));
  expect([...(await joinChunks(chunks, 6))]).toEqual([1, 2, 3, 4, 5, 6]);
  expect(await joinChunks([], 0)).toHaveLength(0);
});

test("the event loop continues at least once per 4 MiB", async () => {
  const MIB = 1024 * 1024;
  const chunks = Array.from({ length: 64 }, (_, at) => new Uint8Array(MIB).fill(at));
  let turns = 0;
  let joining = true;
  const count = (): void => {
    turns += 1;
    if (joining) setImmediate(count);
  };
  setImmediate(count);
  const joined = await joinChunks(chunks, 64 * MIB);
  joining = false;
  expect(turns).toBeGreaterThanOrEqual(16);
  expect(joined.byteLength).toEqual(64 * MIB);
  expect(joined[0]).toBe(0);
  expect(joined[MIB]).toBe(1);
  expect(joined[64 * MIB - 1]).toBe(63);
});
