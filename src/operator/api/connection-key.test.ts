import { expect, test } from "vitest";
import { connectionKey, connectionKindOf, tenantOf } from "./connection-key.ts";

test("connections of both kinds that have the same name have different keys", () => {
  const ofNamespace = connectionKey({ kind: "VaultConnection", name: "vault" }, "shop");
  const ofCluster = connectionKey({ kind: "ClusterVaultConnection", name: "vault" }, "shop");
  expect(ofNamespace).toBe("shop/vault");
  expect(ofCluster).toBe("vault");
  expect([ofNamespace, ofCluster].map(connectionKindOf)).toEqual([
    "VaultConnection",
    "ClusterVaultConnection",
  ]);
});

test("a cluster-scoped connection is the same one for all namespaces", () => {
  const ref = { kind: "ClusterVaultConnection", name: "vault" } as const;
  expect(connectionKey(ref, "shop")).toBe(connectionKey(ref, "blog"));
});

test("connections of one namespace have one tenant, which no connection of the cluster has", () => {
  expect(["shop/vault", "shop/other", "blog/vault", "shop"].map(tenantOf)).toEqual([
    "shop/",
    "shop/",
    "blog/",
    "shop",
  ]);
});
