import { expect, test } from "vitest";
import { teamLooks } from "./sql-teams.ts";

function lookAlike(one: string, other: string): boolean {
  const looks = teamLooks(other);
  return teamLooks(one).some((look, index) => look === looks[index]);
}

test.each([
  ["a Cyrillic word", "орѕ", "ops"],
  ["Cyrillic capitals", "РАУ", "PAY"],
  ["a Greek word", "νουο", "vouo"],
  ["an I in place of an l", "payroIl", "payroll"],
  ["a 1 in place of an l", "biIIing 1", "billing l"],
  ["a 0 in place of an O", "0PS", "OPS"],
  ["rn in place of m", "platforrn", "platform"],
  ["another case", "Payments", "payments"],
  ["another case of M", "Marketing", "marketing"],
  ["another case of I", "ADMIN", "admin"],
  ["another case of a Cyrillic word", "Команда", "команда"],
  ["another hyphen", "a\u2010b", "a-b"],
  ["a Han character in place of a Katakana one", "口グ", "ロ\u30b0"],
])("%s looks the same", (_what, imitation, name) => {
  expect(imitation).not.toBe(name);
  expect(lookAlike(imitation, name)).toBe(true);
});

test("names that differ to the eye have different looks", () => {
  const names = ["ops", "op", "équipe", "equipe", "команда", "ops-1", "ops-2", "ロゴ", "🚀", "💚"];
  const pairs = [...names, "mail", "mall"].flatMap((one, index, all) =>
    all.slice(index + 1).map((other) => [one, other] as const),
  );
  expect(pairs.filter(([one, other]) => lookAlike(one, other))).toEqual([]);
});

test("a long look fits into an index, and equals the look of another name", () => {
  const name = Array.from({ length: 255 }, (_, n) => String.fromCodePoint(0xac01 + 28 * n)).join(
    "",
  );
  for (const look of teamLooks(name)) expect(Buffer.byteLength(look)).toBeLessThan(100);
  expect(lookAlike(`${name}\u0430`, `${name}a`)).toBe(true);
  expect(lookAlike(`${name}b`, `${name}a`)).toBe(false);
});
