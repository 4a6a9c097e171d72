import { expect, test } from "vitest";
import { clusterSecret, condition, items } from "../../../../test/lab/kube/fanned-out-objects.ts";
import { ObjectServer } from "../../../../test/lab/kube/object-server.ts";
import type { KubeObject } from "../../kube/resource.ts";
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
    keysOmitted: 0,
    updates: [
      { key: "password", source: "db", from: 2, to: 3 },
      { key: "more", source: "more", from: undefined, to: 1 },
    ],
  });
  expect(awaitingOf(name, object(undefined))).toBeUndefined();
});

/** A resource that waits for an approval. */
const waiting = (of: string, spec: object = {}): KubeObject =>
  clusterSecret(of, { spec, status: { items: items(1, 2), approvalDigest: "abc" } });

/** Reports a sync as the operator does after an approval, with this status. */
const syncs =
  (after: object) =>
  (synced: KubeObject): KubeObject => {
    const { approvalDigest: _, ...status } = synced["status"] as Record<string, unknown>;
    const lastForceSync = synced.metadata.annotations?.["vaultsync.dev/force-sync"];
    return synced.spec !== undefined && "suspend" in (synced.spec as object)
      ? synced
      : { ...synced, status: { ...status, lastForceSync, ...after } };
  };

test.each([
  [0, "", {}],
  [
    3,
    "clustervaultsecret/registry: password is too short\n",
    { conditions: [condition("Ready", "False", "InvalidContent", "password is too short")] },
  ],
  [
    0,
    "clustervaultsecret/registry: OutsideWindow: the next window opens at night\n",
    {
      conditions: [
        condition("Ready", "True", "Synced"),
        condition("UpdateAvailable", "True", "OutsideWindow", "the next window opens at night"),
      ],
    },
  ],
])("approve ends with code %i and %j, by what the target became", async (code, stderr, after) => {
  await using cluster = await ObjectServer.start([waiting("registry")], {
    operator: syncs(after),
  });
  const result = await cluster.run("approve", "clustervaultsecret/registry");
  expect([result.code, result.stderr]).toEqual([code, stderr]);
});

test("approve names each resource that cannot be approved, and approves the rest", async () => {
  const objects = [waiting("first", { suspend: true }), waiting("second")];
  await using cluster = await ObjectServer.start(objects, { operator: syncs({}) });
  const names = ["clustervaultsecret/first", "clustervaultsecret/second"];
  expect(await cluster.run("approve", ...names)).toMatchObject({
    code: 1,
    stderr: "vaultsync: clustervaultsecret/first is suspended: set spec.suspend to false\n",
  });
  // An approval would take effect when the resource resumes.
  expect(cluster.get("ClusterVaultSecret", "first").metadata.annotations).toEqual({});
  expect(cluster.get("ClusterVaultSecret", "second").metadata.annotations).toMatchObject({
    "vaultsync.dev/approve": "abc",
  });
});

test("approve says that it approves more versions than a long status shows", async () => {
  const { status, ...rest } = waiting("registry");
  const long = { ...rest, status: { ...(status as object), itemsOmitted: 7 } };
  await using cluster = await ObjectServer.start([long]);
  const { stderr } = await cluster.run("approve", "clustervaultsecret/registry", "--dry-run");
  expect(stderr).toBe(
    "clustervaultsecret/registry has 7 more keys that its status does not show: newer versions of them are approved too\n",
  );
});
