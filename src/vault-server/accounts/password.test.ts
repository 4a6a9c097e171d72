import { expect, test } from "vitest";
import { hashPassword, unmatchableHash, verifyPassword } from "./password.ts";
import { defaultPasswordCost } from "../limits.ts";

const shape = (stored: string) => stored.split("$").map((field, index) => (index > 3 ? field.length : field));
const cheap = { memoryKib: 8, passes: 1, lanes: 1 };

test("a password with any characters matches only its own hash", async () => {
  for (const password of ["a", "pässwörd 💚", "x".repeat(1024), "nul\u0000inside"]) {
    const stored = await hashPassword(password, cheap);
    expect([await verifyPassword(stored, password), await verifyPassword(stored, `${password}x`)]).toEqual([true, false]);
  }
});

test("two hashes of one password differ", async () => {
  expect(await hashPassword("same", cheap)).not.toBe(await hashPassword("same", cheap));
});

test("the default cost is OWASP's minimum, and a stored hash contains its cost", async () => {
  expect(await hashPassword("p")).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/u);
});

test("the unmatchable hash has the form and cost of a real one and matches nothing", async () => {
  const [nobody, real] = [unmatchableHash(defaultPasswordCost), await hashPassword("p")];
  expect(shape(nobody)).toEqual(shape(real));
  expect(await verifyPassword(unmatchableHash(cheap), "")).toBe(false);
});

test("a malformed stored hash is an error, not a mismatch", async () => {
  await expect(verifyPassword("plain", "plain")).rejects.toThrow("malformed stored password hash");
});
