import { expect, test } from "vitest";
import { MAX_CONSUMER_CHARACTERS, parseConsumer } from "./consumer.ts";

test("parseConsumer returns the parts of a name", () => {
  expect(parseConsumer("prod.eu-1/shop/VaultSecret/shop-db.v2")).toEqual({
    cluster: "prod.eu-1",
    namespace: "shop",
    kind: "VaultSecret",
    name: "shop-db.v2",
  });
  const longest = `c/n/Kind/${"x".repeat(MAX_CONSUMER_CHARACTERS - 9)}`;
  expect(parseConsumer(longest)).toBeDefined();
  expect(parseConsumer(`${longest}x`)).toBeUndefined();
});

test.each([
  "",
  "shop/VaultSecret/db",
  "c/shop/VaultSecret/db/x",
  "C/shop/VaultSecret/db",
  "c./shop/VaultSecret/db",
  "c/shop.eu/VaultSecret/db",
  "c/-shop/VaultSecret/db",
  "c/shop/vaultSecret/db",
  "c/shop/Vault-Secret/db",
  "c/shop/VaultSecret/",
  "c/shop/VaultSecret/d..b",
  "c/shop/VaultSecret/db\n",
  "c/shop/VaultSecret/db, c/shop/VaultSecret/db",
  "c/shop/VaultSecret/dß",
  "c/shop/VaultSecret/%64b",
])("parseConsumer rejects %o", (text) => {
  expect(parseConsumer(text)).toBeUndefined();
});
