import { expect, test } from "vitest";
import { vaultSecretKind } from "../../api/kinds.ts";
import { awaitingOf } from "./approve.ts";

const name = { kind: vaultSecretKind, name: "shop" };
const object = (approvalDigest: string | undefined) => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultSecret",
  metadata: { namespace: "shop", name: "shop" },
  spec: {
    connectionRef: { name: "vault" },
    updates: { approval: "Required" },
    data: [
      { secretKey: "password", remoteRef: { key: "db" } },
      { secretKey: "user", remoteRef: { key: "user" } },
      { secretKey: "old", remoteRef: { key: "db", version: 1 } },
      { secretKey: "more", remoteRef: { key: "more" }, optional: true },
    ],
  },
  status: {
    approvalDigest,
    items: [
      { secretKey: "password", key: "db", version: 2, latest: 3 },
      { secretKey: "user", key: "user", version: 4, latest: 4 },
      { secretKey: "old", key: "db", version: 1, latest: 3 },
      { secretKey: "more", key: "more", latest: 1 },
    ],
  },
});

test("awaitingOf returns the versions that wait, without pinned and current ones", () => {
  expect(awaitingOf(name, object("abc"))).toEqual({
    name,
    digest: "abc",
    updates: [
      { key: "password", source: "db", from: 2, to: 3 },
      { key: "more", source: "more", from: undefined, to: 1 },
    ],
  });
  expect(awaitingOf(name, object(undefined))).toBeUndefined();
});
