/** Kinds of characters of a generated password. */
export const passwordKinds = {
  lower: "abcdefghijklmnopqrstuvwxyz",
  upper: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  digits: "0123456789",
  symbols: "!#$%&*+-=?@_~",
} as const;

export type PasswordKind = keyof typeof passwordKinds;

/**
 * Returns a random integer from 0 to `below - 1`, each equally likely. `random` returns 32 random
 * bits.
 */
function randomBelow(below: number, random: () => number): number {
  // Values beyond the largest multiple would favor small numbers.
  const limit = 2 ** 32 - (2 ** 32 % below);
  let value = random();
  while (value >= limit) value = random();
  return value % below;
}

/** Returns 32 bits of the browser's cryptographic generator. */
function secureRandom(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
}

/**
 * Returns a password of these kinds of characters with at least one of each. `length` is at least
 * the number of kinds.
 */
export function generatePassword(
  length: number,
  kinds: readonly PasswordKind[],
  random = secureRandom,
): string {
  const sets = kinds.map((kind): string => passwordKinds[kind]);
  const all = sets.join("");
  // Every password that has all kinds stays equally likely.
  for (;;) {
    const password = Array.from({ length }, () => all.charAt(randomBelow(all.length, random))).join(
      "",
    );
    if (sets.every((set) => Array.from(password).some((character) => set.includes(character))))
      return password;
  }
}
