import { expect, test } from "vitest";
import { subjectOfServiceAccount } from "./identity-commands.ts";
import { identityError, parseIssuers } from "./identity-options.ts";

test("parseIssuers returns each issuer with the file or URL of its keys", () => {
  expect(
    parseIssuers("https://a.example.com=/etc/a.json, https://b=https://b.example.com/keys?v=1"),
  ).toEqual([
    { issuer: "https://a.example.com", keys: "/etc/a.json" },
    { issuer: "https://b", keys: "https://b.example.com/keys?v=1" },
  ]);
  expect(parseIssuers("i=http://127.0.0.1:8001/keys")).toHaveLength(1);
});

test.each([
  ["https://a.example.com", "expected ISSUER=KEYS"],
  ["=keys.json", "expected ISSUER=KEYS"],
  ["https://a.example.com=", "expected ISSUER=KEYS"],
  ["a=http://keys.example.com/keys", "https URL"],
  ["a=ftp://keys.example.com/keys", "https URL"],
  ["a=1.json,a=2.json", "each issuer once"],
])("parseIssuers rejects %s", (text, message) => {
  expect(() => parseIssuers(text)).toThrow(message);
});

test("issuers and audiences require each other", () => {
  const issuers = parseIssuers("a=keys.json");
  expect(identityError({ identityIssuers: issuers })).toContain("require each other");
  expect(identityError({ identityAudiences: ["a"] })).toContain("require each other");
  expect(identityError({ identityIssuers: issuers, identityAudiences: ["a"] })).toBeUndefined();
  expect(identityError({})).toBeUndefined();
});

test.each(["shop", "shop/", "/vaultsync", "a/b/c", "Shop/vaultsync", "shop/vault:sync"])(
  "subjectOfServiceAccount rejects %s",
  (text) => {
    expect(() => subjectOfServiceAccount(text)).toThrow("expected NAMESPACE/NAME");
  },
);
