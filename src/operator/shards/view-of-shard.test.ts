import { expect, test } from "vitest";
import { ObjectStore } from "../kube/cache/object-store.ts";
import type { Watched } from "../kube/cache/filtered-view.ts";
import type { KubeObject } from "../kube/resource.ts";
import { shardOf } from "./shard-of.ts";
import { viewOfShard } from "./view-of-shard.ts";

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
