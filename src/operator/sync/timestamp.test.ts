import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatTimestamp } from "./timestamp.ts";

test.each<[string, number | undefined, string | undefined]>([
  ["no timestamp", undefined, undefined],
  ["the epoch", 0, "1970-01-01T00:00:00.000Z"],
  [
    "the last millisecond of the year 9999",
    Date.UTC(9999, 11, 31, 23, 59, 59, 999),
    "9999-12-31T23:59:59.999Z",
  ],
  ["the year 10000", Date.UTC(10_000, 0, 1), undefined],
  ["the year 0", Date.parse("0000-01-01T00:00:00Z"), "0000-01-01T00:00:00.000Z"],
  ["before the year 0", Date.parse("-000001-12-31T23:59:59Z"), undefined],
  ["after the range of Date", 1e300, undefined],
  ["before the range of Date", -1e300, undefined],
  ["NaN", Number.NaN, undefined],
])("formatTimestamp: %s", (_, at, written) => {
  expect(formatTimestamp(at)).toBe(written);
});

test("formatTimestamp writes RFC 3339 with a four-digit year and millisecond precision", () => {
  fc.assert(
    fc.property(fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double()), (at) => {
      const written = formatTimestamp(at);
      if (written === undefined) return;
      expect(written).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
      expect(Math.abs(Date.parse(written) - at)).toBeLessThan(1);
    }),
  );
});
