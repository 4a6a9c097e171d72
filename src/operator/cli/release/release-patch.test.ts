import { describe, expect, test } from "vitest";
import type { ObjectMeta } from "../../kube/resource.ts";
import { releaseOfPush, releaseOfTarget } from "./release-patch.ts";

const owner = (kind: string, apiVersion = "vaultsync.dev/v1alpha1") => ({
  apiVersion,
  kind,
  name: "db",
  uid: `uid-of-${kind}`,
  controller: true,
});
const claims = {
  "vaultsync.dev/owner": "VaultSecret/db",
  "vaultsync.dev/content": "digest",
  "vaultsync.dev/versions": "{}",
  "vaultsync.dev/sources": "{}",
  "vaultsync.dev/metadata": "{}",
};
const label = { "app.kubernetes.io/managed-by": "vaultsync" };
const object = (metadata: Partial<ObjectMeta>): ObjectMeta => ({
  name: "db",
  namespace: "shop",
  ...metadata,
});

describe("the release of a target", () => {
  test("removes its owner, label and annotations, and keeps those of others", () => {
    const others = owner("Deployment", "apps/v1");
    const target = object({
      ownerReferences: [owner("VaultSecret"), others],
      labels: { ...label, team: "shop" },
      annotations: { ...claims, note: "by spec", "vaultsync.dev/adopt": "VaultSecret/other" },
    });
    expect(releaseOfTarget(target)).toEqual({
      owners: ["VaultSecret/db"],
      patch: {
        metadata: {
          ownerReferences: [others],
          labels: { "app.kubernetes.io/managed-by": null },
          annotations: Object.fromEntries(Object.keys(claims).map((name) => [name, null])),
        },
      },
    });
  });

  test.each(["VaultSecret", "VaultFile", "ClusterVaultSecret", "ClusterVaultFile"])(
    "removes a %s as the owner of an object that lost its label and annotations",
    (kind) => {
      expect(releaseOfTarget(object({ ownerReferences: [owner(kind)] }))).toEqual({
        owners: [`${kind}/db`],
        patch: { metadata: { ownerReferences: [] } },
      });
    },
  );

  test("removes the annotations and the label of merged keys only", () => {
    const annotations = { "merge.vaultsync.dev/vaultsecret.db": "{}", note: "theirs" };
    const labels = { "app.kubernetes.io/managed-by": "helm", "vaultsync.dev/merged": "true" };
    expect(releaseOfTarget(object({ annotations, labels }))).toEqual({
      owners: ["vaultsecret.db"],
      patch: {
        metadata: {
          labels: { "vaultsync.dev/merged": null },
          annotations: { "merge.vaultsync.dev/vaultsecret.db": null },
        },
      },
    });
  });

  test.each<[string, Partial<ObjectMeta>]>([
    ["without metadata", {}],
    ["with the label alone", { labels: label }],
    [
      "that a connection owns by the will of a user",
      { ownerReferences: [owner("VaultConnection")] },
    ],
    [
      "that another group owns",
      { ownerReferences: [owner("VaultSecret", "vaultsync.dev.example.com/v1")] },
    ],
  ])("is nothing for an object %s", (_, metadata) => {
    expect(releaseOfTarget(object(metadata))).toBeUndefined();
  });
});

test("the release of a VaultPush removes its finalizer, and keeps those of others", () => {
  const finalizers = ["example.com/hold", "vaultsync.dev/push"];
  expect(releaseOfPush(object({ finalizers }))?.patch).toEqual({
    metadata: { finalizers: ["example.com/hold"] },
  });
  expect(releaseOfPush(object({ finalizers: ["example.com/hold"] }))).toBeUndefined();
});
