import { expect, test } from "vitest";
import { parseDuration } from "./duration.ts";

test.each([
  ["90s", 90_000],
  ["5m", 300_000],
  ["1h30m", 5_400_000],
  ["250ms", 250],
  ["1.5h", 5_400_000],
  ["1m1ms", 60_001],
  ["0s", 0],
  ["1s1s", 2_000],
])("parseDuration parses %s as %d milliseconds", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  "",
  "90",
  "s",
  "-5s",
  "+5s",
  " 5s",
  "5s ",
  "5 s",
  "5S",
  "1d",
  ".5s",
  "1.s",
  "1e3s",
  "5s\n",
  "١s",
])("parseDuration rejects %j", (text) => {
  expect(() => parseDuration(text)).toThrow(RangeError);
});

test("parseDuration rejects a long malformed text without backtracking", () => {
  expect(() => parseDuration(`${"1m".repeat(50_000)}1`)).toThrow(RangeError);
});
