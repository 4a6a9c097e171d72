import { expect, test } from "vitest";
import { shortened } from "./shortened.ts";

test.each([
  ["short", "short"],
  ["x".repeat(36), "x".repeat(36)],
  [`value of prod/${"x".repeat(40)}/cert`, "value of prod/xxx…xxxxxxxxxxxx/cert"],
  ["💚".repeat(37), `${"💚".repeat(17)}…${"💚".repeat(17)}`],
])("shortened: %s", (text, expected) => {
  expect(shortened(text)).toBe(expected);
});
