import { expect, test } from "vitest";
import { shortened } from "./shortened.ts";

test.each([
  ["short", "short"],
  ["x".repeat(30), "x".repeat(30)],
  [`value of prod/${"x".repeat(40)}/cert`, "value of prod/…xxxxxxxxx/cert"],
  ["💚".repeat(31), `${"💚".repeat(14)}…${"💚".repeat(14)}`],
])("shortened: %s", (text, expected) => {
  expect(shortened(text)).toBe(expected);
});
