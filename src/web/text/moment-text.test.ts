import { expect, test } from "vitest";
import { exactMoment, relativeMoment } from "./moment-text.ts";

const now = Date.parse("2026-11-21T12:00:00.000Z");

test.each([
  ["2026-11-21T12:00:00.000Z", "just now"],
  ["2026-11-21T12:00:30.000Z", "in less than a minute"],
  ["2026-11-21T11:58:00.000Z", "2 minutes ago"],
  ["2026-11-21T15:30:00.000Z", "in 3 hours"],
  ["2026-11-20T11:00:00.000Z", "yesterday"],
  ["2026-12-01T12:00:00.000Z", "next week"],
  ["3026-11-21T12:00:00.000Z", "in 999 years"],
  [now + 9e15, "in 285,192 years"],
])("%s is %s", (moment, text) => {
  expect(relativeMoment(moment, now)).toBe(text);
});

test("a moment beyond the calendar still has a text", () => {
  expect(exactMoment(9e15)).toBe("9000000000000000 ms after 1970");
});
