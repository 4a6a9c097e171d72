import { expect, test } from "vitest";
import { readToken } from "./read-token.ts";

const read = (response: unknown) => readToken("generate_access_token", response);
const expiryOf = (expires_in: unknown) => read({ access_token: "a", expires_in }).expiresInSeconds;

test("a response has an access token, and may have a refresh token", () => {
  const both = read({ access_token: "~canary-1!", refresh_token: "canary-2" });
  expect(both.accessToken.reveal()).toBe("~canary-1!");
  expect(both.refreshToken?.reveal()).toBe("canary-2");
  for (const refresh_token of ["", null, 7, undefined])
    expect(read({ access_token: "a", refresh_token }).refreshToken).toBeUndefined();
});

test.each([
  undefined,
  null,
  "a",
  {},
  { access_token: 7 },
  { access_token: null },
  { access_token: "" },
  { access_token: "a b" },
  { access_token: "a\n" },
  { access_token: "é" },
])("a response without a token that a header may contain is unexpected: %j", (response) => {
  expect(() => read(response)).toThrow("access_token");
});

test("an access token has up to 16,384 characters", () => {
  const tokens = [16_384, 16_385].map((length) => ({ access_token: "a".repeat(length) }));
  expect(read(tokens[0]).accessToken.reveal()).toHaveLength(16_384);
  expect(() => read(tokens[1])).toThrow("access_token");
});

test.each([
  [3_600, 3_600],
  [-1, -1],
  [0.5, 0.5],
  ["3600", 3_600],
  ["-1", -1],
  ["1".repeat(20), Number("1".repeat(20))],
])("the lifetime %j is %d seconds", (expires_in, seconds) => {
  expect(expiryOf(expires_in)).toBe(seconds);
});

test.each([
  undefined,
  null,
  true,
  {},
  Infinity,
  NaN,
  "",
  "soon",
  "3600s",
  "+3600",
  "in 3600",
  "1".repeat(21),
])("the lifetime %j is none", (expires_in) => {
  expect(expiryOf(expires_in)).toBeUndefined();
});
