import { expect, test } from "vitest";
import { withoutTrailingSlashes } from "./without-trailing-slashes.ts";

test.each([
  ["https://vault", "https://vault"],
  ["https://vault/", "https://vault"],
  ["https://vault/a//", "https://vault/a"],
  ["//", ""],
  ["", ""],
])("removes the slashes at the end of %j", (url, expected) => {
  expect(withoutTrailingSlashes(url)).toBe(expected);
});
