import { expect, test, describe } from "vitest";
import { VirtualClock, pump } from "../../../../test/lab/clock/virtual-clock.ts";
import { ApiClient } from "../../../../test/lab/simulated/api-server/api-client.ts";
import { InMemoryApiServer } from "../../../../test/lab/simulated/api-server/in-memory-api-server.ts";
import { ALL_NAMESPACES, LEASES, NAMESPACES, type ObjectMeta } from "../../kube/resource.ts";
import { runningOperator, releaseOfPush, releaseOfTarget } from "./release.ts";

const signal = new AbortController().signal;

/** Returns what is found while a holder renews its Lease every two seconds. */
async function foundNextTo(namespace: string, name: string, labels: Record<string, string>) {
  const clock = new VirtualClock();
  const server = new InMemoryApiServer({ clock });
  const spec = { holderIdentity: "holder", leaseDurationSeconds: 15 };
  server.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const metadata = { namespace, name, labels };
  server.create(LEASES, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec });
  const ended = new AbortController();
  const renew = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(2_000, ended.signal);
      const renewTime = new Date(clock.now()).toISOString();
      server.patch(LEASES, { namespace, name }, { spec: { renewTime } });
    }
  };
  const renewed = renew().catch(() => undefined);
  const operator = { namespace: ALL_NAMESPACES, clock };
  const found = await pump(clock, runningOperator(new ApiClient(server), operator, signal));
  ended.abort();
  await renewed;
  return found;
}

test.each([
  ["vaultsync", {}],
  ["vaultsync-1-of-3", {}],
  ["vaultsync-replica-7", { "vaultsync.dev/lease": "replica" }],
])("the holder of the Lease %s is an operator", async (name, labels) => {
  expect(await foundNextTo("vaultsync-system", name, labels)).toEqual({
    lease: `vaultsync-system/${name}`,
    holder: "holder",
  });
});

// Found on a node of this name: nothing could be released.
test.each(["vaultsync-node", "vaultsync-1"])("the node %s is no operator", async (name) => {
  expect(await foundNextTo("kube-node-lease", name, {})).toBeUndefined();
});

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
