import { describe, expect, test } from "vitest";
import { syncResource } from "../../lab/kube/sync-resource.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { ObjectStore } from "../../../src/operator/kube/cache/object-store.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import {
  ownerIndex,
  targetMetadata,
} from "../../../src/operator/controllers/sync/target-metadata.ts";
import { TargetRecords } from "../../../src/operator/controllers/sync/target-records.ts";

const resource = syncResource([]);

const owned = (name: string, changes: Partial<KubeObject["metadata"]> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name,
    namespace: "shop",
    uid: `uid-of-${name}`,
    resourceVersion: "5",
    labels: { "app.kubernetes.io/managed-by": "vaultsync" },
    annotations: { "vaultsync.dev/owner": "VaultSecret/db" },
    ...changes,
  },
});
/**
 * Returns the records of a store with these objects, and the names of the former targets of a
 * resource.
 */
function stored(...objects: KubeObject[]) {
  const stores = { Secret: new ObjectStore(ownerIndex), ConfigMap: new ObjectStore(ownerIndex) };
  for (const one of objects) {
    const { namespace, name, uid, resourceVersion } = one.metadata;
    stores.Secret.set(`${namespace}/${name}`, { uid, resourceVersion, value: targetMetadata(one) });
  }
  const watched = { Secret: { store: stores.Secret }, ConfigMap: { store: stores.ConfigMap } };
  const records = new TargetRecords({
    watched,
    clock: new VirtualClock(),
    requeue: () => undefined,
  });
  const namesOf = (of = resource): string[] =>
    records.formers(of).map(({ former }) => former.target.name);
  return { records, namesOf };
}

describe("TargetRecords.formers", () => {
  const elsewhere = syncResource([], {
    target: { kind: "Secret", name: "after", type: undefined },
  });

  test("are all objects of the resource but its target", () => {
    const { namesOf } = stored(owned("db"), owned("one"), owned("after"));
    expect(namesOf()).toEqual(["one", "after"]);
    expect(namesOf(elsewhere)).toEqual(["db", "one"]);
  });

  test("include the Secret of the name if the target is a ConfigMap", () => {
    const { namesOf } = stored(owned("db"));
    expect(
      namesOf(syncResource([], { target: { kind: "ConfigMap", name: "db", type: undefined } })),
    ).toEqual(["db"]);
  });

  test("are none of another resource, namespace or state", () => {
    const other = owned("theirs", { annotations: { "vaultsync.dev/owner": "VaultSecret/other" } });
    const deleting = owned("deleting", { deletionTimestamp: "2026-11-21T00:00:00Z" });
    const { namesOf } = stored(
      other,
      deleting,
      owned("one", { namespace: "team" }),
      owned("released", { labels: {} }),
    );
    expect(namesOf()).toEqual([]);
  });

  test("are not those that this process deleted and the watch still shows", () => {
    const { records, namesOf } = stored(owned("one"));
    records.recordDelete(
      syncResource([], { target: { kind: "Secret", name: "one", type: undefined } }),
      "uid-of-one",
    );
    expect(namesOf()).toEqual([]);
  });
});
