import { expect, test } from "vitest";
import { teamLook } from "./team-look.ts";

test.each([
  ["a Cyrillic word", "орѕ", "ops"],
  ["Cyrillic capitals", "РАУ", "PAY"],
  ["a Greek word", "νουο", "vouo"],
  ["an I in place of an l", "payroIl", "payroll"],
  ["a 1 in place of an l", "biIIing 1", "billing l"],
  ["a 0 in place of an O", "0PS", "OPS"],
  ["rn in place of m", "platforrn", "platform"],
  ["another case", "Payments", "payments"],
  ["another hyphen", "a\u2010b", "a-b"],
  ["a Han character in place of a Katakana one", "口グ", "ロ\u30b0"],
])("%s looks the same", (_what, imitation, name) => {
  expect(imitation).not.toBe(name);
  expect(teamLook(imitation)).toBe(teamLook(name));
});

test("names that differ to the eye have different looks", () => {
  const names = ["ops", "op", "équipe", "equipe", "команда", "ops-1", "ops-2", "ロゴ", "🚀", "💚"];
  expect(new Set(names.map(teamLook)).size).toBe(names.length);
});
