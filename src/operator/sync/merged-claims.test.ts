import { expect, test } from "vitest";
import { syncResource } from "../../../test/support/kube/sync-resource.ts";
import { mergeAnnotation, mergeManager } from "./merged-claims.ts";

const named = (name: string) => syncResource([], { name });

test("names of resources become annotations and field managers, unchanged where they fit", () => {
  expect(mergeAnnotation(named("shop-db"))).toBe("merge.vaultsync.dev/vaultsecret.shop-db");
  expect(mergeManager(named("shop-db"))).toBe("vaultsync:VaultSecret/shop-db");
});

test("names that are too long are distinguished by a digest", () => {
  const [first, second] = [named(`${"x".repeat(252)}1`), named(`${"x".repeat(252)}2`)];
  expect(mergeAnnotation(first)).toMatch(/^merge\.vaultsync\.dev\/vaultsecret\.[0-9a-f]{16}$/);
  expect(mergeManager(first)).toMatch(/^vaultsync:VaultSecret\/[0-9a-f]{16}$/);
  expect(mergeAnnotation(first)).not.toBe(mergeAnnotation(second));
  expect(mergeManager(first)).not.toBe(mergeManager(second));
});
