import { assert, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { timestamp } from "./timestamp.ts";

test("formats a timestamp like Date, from before the epoch to the last date", () => {
  const anyTimestamp = integer({ min: -8.64e15, max: 8.64e15 });
  assert(
    property(anyTimestamp, (ms) => timestamp(ms) === new Date(ms).toISOString()),
    { numRuns: 5000 },
  );
  for (const ms of [0, -1, 8.64e15, -8.64e15, 253_402_300_800_000, 86_399_999]) {
    expect(timestamp(ms)).toBe(new Date(ms).toISOString());
  }
});

test("returns a number beyond the last date", () => {
  expect(timestamp(8.64e15 + 1)).toEqual(8.64e15 + 1);
  expect(timestamp(1e18)).toEqual(1e18);
});
