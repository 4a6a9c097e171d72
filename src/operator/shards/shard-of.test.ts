import * as fc from "fast-check";
import { expect, test } from "vitest";
import { quotaOf, shardOf, viewOfShard } from "./shard-of.ts";
import { ObjectStore } from "../kube/cache/object-store.ts";
import type { Watched } from "../kube/cache/filtered-view.ts";
import type { KubeObject } from "../kube/resource.ts";

const connectionKeys = Array.from({ length: 2_000 }, (_, n) => `team-${n}/vault`);

test("connections are spread evenly over the shards", () => {
  const counts = [0, 0, 0, 0];
  for (const connection of connectionKeys) counts[shardOf(connection, 4)]! += 1;
  for (const count of counts) expect(count).toBeGreaterThan(400);
});

test("the shard of a connection is the same in each version: an update runs two of them", () => {
  const some = connectionKeys.slice(0, 12);
  expect(some.map((connection) => shardOf(connection, 3)).join("")).toBe("210100200010");
  expect(some.map((connection) => shardOf(connection, 8)).join("")).toBe("240504270077");
});

test("one more shard moves only the connections that it takes over", () => {
  const moved = connectionKeys.filter(
    (connection) => shardOf(connection, 5) !== shardOf(connection, 4),
  );
  expect(moved.every((connection) => shardOf(connection, 5) === 4)).toBe(true);
  expect(moved.length).toBeGreaterThan(300);
});

test("the quotas of all replicas add up to the number of shards and differ by at most one", () => {
  const identities = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(identities, fc.integer({ min: 1, max: 64 }), (replicas, shards) => {
      const quotas = replicas.map((identity) => quotaOf(identity, new Set(replicas), shards));
      expect(quotas.reduce((sum, quota) => sum + quota, 0)).toBe(shards);
      expect(Math.max(...quotas) - Math.min(...quotas)).toBeLessThanOrEqual(1);
    }),
  );
});

const SHARDS = 3;
const names = Array.from({ length: 30 }, (_, index) => `n${index}`);

const nothing = (): Disposable => new DisposableStack();

/** A collection of one object per key, made of the key. */
function watched(keys: readonly string[], specOf: (key: string) => unknown): Watched<KubeObject> {
  const store = new ObjectStore<KubeObject>();
  for (const key of keys) {
    const [name = "", namespace] = key.split("/").toReversed();
    const metadata = { name, ...(namespace !== undefined && { namespace }) };
    const value = { apiVersion: "", kind: "", metadata, spec: specOf(key) };
    store.set(key, { uid: key, resourceVersion: "1", value });
  }
  return { store, onChange: nothing, onReconnect: nothing };
}

const inShop = names.map((name) => `shop/${name}`);
const refersToOwnName = (kind?: string) =>
  watched(inShop, (key) => ({ connectionRef: { kind, name: key.slice("shop/".length) } }));

const objects = {
  connections: watched(inShop, () => ({})),
  clusterConnections: watched(names, () => ({})),
  secrets: refersToOwnName(),
  files: refersToOwnName("ClusterVaultConnection"),
  pushes: refersToOwnName("VaultConnection"),
  targetSecrets: watched(inShop, () => ({})),
} as unknown as Parameters<typeof viewOfShard>[0];

const keysOf = (view: Watched<unknown> | undefined): string[] => [...(view?.store.keys() ?? [])];
const viewsOf = (all: typeof objects) =>
  Array.from({ length: SHARDS }, (_, shard) => viewOfShard(all, shard, SHARDS));

test("a shard has its connections", () => {
  for (const [shard, view] of viewsOf(objects).entries()) {
    expect(keysOf(view.connections)).toEqual(
      inShop.filter((key) => shardOf(key, SHARDS) === shard),
    );
    expect(keysOf(view.clusterConnections)).toEqual(
      names.filter((key) => shardOf(key, SHARDS) === shard),
    );
  }
});

test("a shard has the resources that refer to its connections, of either kind", () => {
  for (const { connections, clusterConnections, secrets, files, pushes } of viewsOf(objects)) {
    expect(keysOf(secrets)).toEqual(keysOf(connections));
    expect(keysOf(pushes)).toEqual(keysOf(connections));
    expect(keysOf(files)).toEqual(keysOf(clusterConnections).map((name) => `shop/${name}`));
  }
});

test("each shard has all targets", () => {
  for (const view of viewsOf(objects)) expect(keysOf(view.targetSecrets)).toEqual(inShop);
});

test("the only shard has everything", () => {
  expect(viewOfShard(objects, 0, 1)).toBe(objects);
});

test.each([undefined, {}, { connectionRef: "x" }, { connectionRef: { kind: 1, name: 1 } }])(
  "a resource with the spec %j is in the shard of the connection without a name",
  (spec) => {
    const malformed = { ...objects, secrets: watched(inShop, () => spec) };
    for (const [shard, { secrets }] of viewsOf(malformed).entries())
      expect(keysOf(secrets)).toEqual(shard === shardOf("shop/", SHARDS) ? inShop : []);
  },
);

test("a shard of an operator for some namespaces has no cluster connections", () => {
  const { clusterConnections } = viewOfShard(
    { ...objects, clusterConnections: undefined },
    0,
    SHARDS,
  );
  expect(clusterConnections).toBeUndefined();
});
