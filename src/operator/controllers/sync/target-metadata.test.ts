import { expect, test } from "vitest";
import type { TargetMetadata } from "../../sync/target.ts";
import { ownerKeys } from "../../sync/owner-keys.ts";
import { ownerIndex } from "./target-metadata.ts";

const metadata = (
  owner: string | undefined,
  owners: TargetMetadata["owners"] = [],
): TargetMetadata => ({
  uid: "uid-1",
  resourceVersion: "7",
  labels: {},
  annotations: owner === undefined ? {} : { "vaultsync.dev/owner": owner },
  owners,
  deleting: false,
});
const controller = (group: string, kind: string, name: string) => ({
  uid: "uid-2",
  group,
  kind,
  name,
  controller: true,
});

test.each<[string, TargetMetadata, string[]]>([
  ["its annotation", metadata("VaultSecret/db"), ["VaultSecret/shop/db"]],
  [
    "its controller",
    metadata(undefined, [controller("vaultsync.dev", "VaultFile", "web")]),
    ["VaultFile/shop/web"],
  ],
  [
    "both, once",
    metadata("VaultSecret/db", [controller("vaultsync.dev", "VaultSecret", "db")]),
    ["VaultSecret/shop/db"],
  ],
  [
    "two that differ",
    metadata("VaultSecret/a", [controller("vaultsync.dev", "VaultSecret", "b")]),
    ["VaultSecret/shop/a", "VaultSecret/shop/b"],
  ],
  [
    "no controller of another group",
    metadata(undefined, [controller("apps", "VaultSecret", "db")]),
    [],
  ],
  ["no resource of another kind", metadata("Deployment/db"), []],
  [
    "no owner that is not the controller",
    metadata(undefined, [{ uid: "uid-2", name: "", controller: false }]),
    [],
  ],
])("the owners of an object are those of %s", (_, object, expected) => {
  expect(ownerKeys("shop/app", object)).toEqual(expected);
});

test("an object with the name of its owner is not in the index", () => {
  expect(ownerIndex("shop/db", metadata("VaultSecret/db"))).toEqual([]);
  expect(ownerIndex("shop/app", metadata("VaultSecret/db"))).toEqual(["VaultSecret/shop/db"]);
});
