import { expect, test } from "vitest";
import { generatePassword, passwordKinds, type PasswordKind } from "./password.ts";

const all: PasswordKind[] = ["lower", "upper", "digits", "symbols"];

/** Returns a generator of the numbers, repeatedly. */
function sequence(...numbers: number[]): () => number {
  let next = 0;
  return () => numbers[next++ % numbers.length] ?? 0;
}

test.each([[all], [["digits"]], [["lower", "upper"]]] as const)(
  "a password of %j has each kind and no other",
  (kinds) => {
    for (let count = 0; count < 100; count++) {
      const password = generatePassword(8, kinds);
      expect(password).toHaveLength(8);
      for (const kind of all) {
        const found = Array.from(password).some((character) =>
          passwordKinds[kind].includes(character),
        );
        expect(found, kind).toEqual(kinds.includes(kind as never));
      }
    }
  },
);

test("random numbers that would favor some characters are dropped", () => {
  // 2 ** 32 is not a multiple of 10: its last 6 values are dropped.
  expect(
    generatePassword(
      3,
      ["digits"],
      sequence(2 ** 32 - 1, 2 ** 32 - 6, 2 ** 32 - 7, 7, 2 ** 32 - 3, 13),
    ),
  ).toBe("973");
});

test("a password without one of the kinds is drawn again", () => {
  expect(generatePassword(2, ["lower", "digits"], sequence(0, 1, 2, 26))).toBe("c0");
});
