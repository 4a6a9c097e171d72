import { expect, test } from "vitest";
import { sizeText, exactTime, relativeTime } from "./formats.ts";

test.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [1023, "1023 bytes"],
  [1024, "1 KiB"],
  [1_234_567, "1.18 MiB"],
  [67_108_864, "64 MiB"],
  [67_108_865, "64.1 MiB"],
  [5 * 1024 ** 5, "5,120 TiB"],
])("sizeText formats %d as %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});

const now = Date.parse("2026-11-21T12:00:00.000Z");

test.each([
  ["2026-11-21T12:00:00.000Z", "just now"],
  ["2026-11-21T12:00:30.000Z", "in less than a minute"],
  ["2026-11-21T11:58:00.000Z", "2 minutes ago"],
  ["2026-11-21T15:10:00.000Z", "in 3 hours"],
  ["2026-11-20T11:00:00.000Z", "1 day ago"],
  ["2026-11-22T11:59:59.900Z", "in 24 hours"],
  ["2026-12-21T12:00:00.000Z", "in 30 days"],
  ["2027-02-20T12:00:00.000Z", "in 3 months"],
  ["2026-12-01T12:00:00.000Z", "in 10 days"],
  ["3026-11-21T12:00:00.000Z", "in 1,000 years"],
  [now + 9e15, "in 285,193 years"],
])("relativeTime formats %s as %s", (timestamp, text) => {
  expect(relativeTime(timestamp, now)).toBe(text);
});

test("exactTime formats a timestamp beyond the calendar in milliseconds", () => {
  expect(exactTime(9e15)).toBe("9000000000000000 ms after 1970");
});
