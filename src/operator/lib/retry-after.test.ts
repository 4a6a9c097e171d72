import { expect, test } from "vitest";
import { retryAfterMs } from "./retry-after.ts";

const NOW = Date.UTC(2026, 10, 21, 10, 0, 0);

test.each([
  ["7", 7_000],
  [" 7 ", 7_000],
  ["0", 1_000],
  ["-5", 1_000],
  ["1000000000", 600_000],
  ["Sat, 21 Nov 2026 10:00:30 GMT", 30_000],
  ["Sat, 21 Nov 2026 09:00:00 GMT", 1_000],
])("retryAfterMs parses %j as %d ms", (header, wait) => {
  expect(retryAfterMs(header, NOW)).toBe(wait);
});

test.each([undefined, "", "soon", "1.5", "NaN", "Sat, 99 Nov 2026 10:00:30 GMT"])(
  "retryAfterMs returns undefined for %j",
  (header) => {
    expect(retryAfterMs(header, NOW)).toBeUndefined();
  },
);
