import { expect, test } from "vitest";
import { passwordProblem } from "./password-rules.ts";

const email = "ann.miller@example.com";

test.each([
  ["password1234", "common"],
  ["Administrator!!", "common"],
  ["correcthorse", "common"],
  ["CorrectHorse2026!", "common"],
  ["p4ssw0rdp4ssw0rd!", "repeat"],
  ["abcabcabcabcabc", "repeat"],
  ["aaaaaaaaaaaa", "repeat"],
  ["111111111112", "sequence"],
  ["abcdefghijkl", "sequence"],
  ["qwertyuiop[]", "sequence"],
  ["1234567890ab", "sequence"],
  ["Vaultsync2026!", "email"],
  ["MyVaultSecret1", "email"],
  ["ann.miller@example.com", "email"],
  ["AnnMiller2026!", "email"],
  ["short", "characters"],
])("the password %s is rejected: %s", async (password, problem) => {
  expect(await passwordProblem(password, email)).toContain(problem);
});

test.each([
  "correct horse battery",
  "correct horse battery staple 9",
  "a-password-of-length",
  "a password of one's own",
  "ann has a purple tractor",
  "vault of nine llamas",
  "kX9#mQ2$vL7p",
  "Tr4ktor-Birne-Nebel",
  "9f86d081884c7d65",
  "пароль из трёх слов",
  "パスワードは長い方がいいです",
  Array.from({ length: 1024 }, (_, index) => index.toString(36))
    .join("")
    .slice(0, 1024),
])("the password %s is accepted", async (password) => {
  expect(await passwordProblem(password, email)).toBeUndefined();
});
