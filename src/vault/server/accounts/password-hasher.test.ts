import { expect, test } from "vitest";
import { costOf, hashPassword, verifyPassword } from "./password-hasher.ts";
import { defaultPasswordCost } from "../limits.ts";

const cheap = { memoryKib: 8, passes: 1, lanes: 1 };

test("a password with any characters matches only its own hash", async () => {
  for (const password of ["a", "pässwörd 💚", "x".repeat(1024), "nul\u0000inside"]) {
    const stored = await hashPassword(password, cheap);
    expect(await verifyPassword(stored, password)).toBe(true);
    expect(await verifyPassword(stored, `${password}x`)).toBe(false);
  }
});

test("two hashes of one password differ", async () => {
  expect(await hashPassword("same", cheap)).not.toBe(await hashPassword("same", cheap));
});

test("the default cost is OWASP's minimum, and a stored hash contains its cost", async () => {
  const stored = await hashPassword("p", defaultPasswordCost);
  expect(stored).toMatch(
    /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/u,
  );
  expect(costOf(stored)).toEqual(defaultPasswordCost);
});

test("a malformed stored hash is an error, not a mismatch", async () => {
  await expect(verifyPassword("plain", "plain")).rejects.toThrow("malformed stored password hash");
});

test.each([
  ["memory", "m=262145,t=2,p=1"],
  ["passes", "m=8,t=17,p=1"],
  ["lanes", "m=8,t=2,p=17"],
])("a stored hash whose %s is too high is rejected before it is computed", async (_, cost) => {
  const stored = (await hashPassword("p", cheap)).replace("m=8,t=1,p=1", cost);
  await expect(verifyPassword(stored, "p")).rejects.toThrow(
    "the cost of a stored password hash is too high",
  );
});

test("a stored hash with an oversized salt, hash or cost is malformed", async () => {
  const stored = await hashPassword("p", cheap);
  for (const altered of [
    `${stored}${"A".repeat(100)}`,
    stored.replace("$m=8", "$m=8000000000"),
    stored.replace("p=1$", `p=1$${"A".repeat(99)}`),
  ]) {
    await expect(verifyPassword(altered, "p")).rejects.toThrow("malformed stored password hash");
  }
});
