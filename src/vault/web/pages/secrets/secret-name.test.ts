import { expect, test } from "vitest";
import { nameProblem, readSecretName } from "./secret-name.ts";

test("a name loses the spaces at its ends, and no others", () => {
  expect(readSecretName("  shop  db ")).toBe("shop  db");
});

test.each([
  ["", "Enter a name."],
  ["a\tb", "control character"],
  ["a\u202Eb", "U+202E"],
  ["x".repeat(257), "At most 256 characters."],
  ["💚".repeat(257), "At most 256 characters."],
])("%j is not accepted", (name, reason) => {
  expect(nameProblem(name)).toContain(reason);
});

test.each(["x", "💚".repeat(256), "shop/db #1", "naïve 中文"])("%j is accepted", (name) => {
  expect(nameProblem(name)).toBeUndefined();
});

test("a name of spaces only is empty", () => {
  expect(() => readSecretName(" ")).toThrow("Check the name.");
});
