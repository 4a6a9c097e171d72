import { expect, test } from "vitest";
import { clusterVaultSecretKind } from "../../api/kinds.ts";
import type { NamespaceFacts } from "../../connection/namespace-facts.ts";
import type { Watched } from "../../kube/cache/filtered-view.ts";
import { ObjectStore, type StoreChange } from "../../kube/cache/object-store.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { FannedOut } from "./fanned-out.ts";

/** A collection that the test changes. */
class Collection<T> implements Watched<T> {
  readonly store = new ObjectStore<T>();
  readonly #handlers = new Set<(change: StoreChange<T>) => void>();
  #version = 0;

  onChange(handler: (change: StoreChange<T>) => void): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => this.#handlers.delete(handler) };
  }

  onReconnect(): Disposable {
    return { [Symbol.dispose]: () => undefined };
  }

  put(key: string, value: T, uid = key): void {
    this.#version += 1;
    this.#report(this.store.set(key, { uid, resourceVersion: String(this.#version), value }));
  }

  delete(key: string, uid = key): void {
    this.#report(this.store.delete(key, uid));
  }

  #report(changes: readonly StoreChange<T>[]): void {
    for (const change of changes) for (const handler of this.#handlers) handler(change);
  }
}

const SHOP = { matchLabels: { team: "shop" } };

/** A resource with this generation of its spec. */
const resource = (spec: object, generation = 1, more: object = {}): KubeObject => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "ClusterVaultSecret",
  metadata: { name: "db", uid: "db", generation, ...more },
  spec,
});

/** Two namespaces of the team `shop` and another one, and what the view reports. */
function scene() {
  const resources = new Collection<KubeObject>();
  const namespaces = new Collection<NamespaceFacts>();
  for (const name of ["a", "b"]) namespaces.put(name, { labels: { team: "shop" } });
  namespaces.put("other", { labels: {} });
  const view = new FannedOut({ resources, namespaces });
  const log: string[] = [];
  view.onChange(({ type, key }) => log.push(`${type} ${key}`));
  const take = (): string[] => log.splice(0);
  return { resources, namespaces, view, take };
}

const write = (view: FannedOut, key: string, status: object): Promise<KubeObject> => {
  const { namespace, name, uid, resourceVersion } = view.store.get(key)!.metadata;
  const ref = { namespace, name, uid, resourceVersion };
  return view.replaceStatus(clusterVaultSecretKind, ref, status, new AbortController().signal);
};

test("a resource has an object in each namespace that it selects, as they come and go", () => {
  const { resources, namespaces, take } = scene();
  resources.put("db", resource({ namespaceSelector: SHOP, namespaces: ["late"] }));
  expect(take()).toEqual(["added a/db", "added b/db"]);
  namespaces.put("late", { labels: {} });
  namespaces.put("b", { labels: {} });
  expect(take()).toEqual(["added late/db", "deleted b/db"]);
  namespaces.delete("late");
  resources.delete("db");
  expect(take()).toEqual(["deleted late/db", "deleted a/db"]);
});

test("a changed spec changes every object, and a changed status none", () => {
  const { resources, take } = scene();
  resources.put("db", resource({ namespaceSelector: SHOP }));
  take();
  resources.put("db", { ...resource({ namespaceSelector: SHOP }), status: { conditions: [] } });
  expect(take()).toEqual([]);
  resources.put("db", resource({ namespaceSelector: SHOP }, 2));
  expect(take()).toEqual(["updated a/db", "updated b/db"]);
  resources.put("db", resource({ namespaces: ["b"] }, 3));
  expect(take()).toEqual(["deleted a/db", "updated b/db"]);
});

test("a spec without a valid selection keeps the objects that there are", () => {
  const { resources, view, take } = scene();
  resources.put("db", resource({ namespaceSelector: SHOP }));
  take();
  resources.put("db", resource({ namespaceSelector: {} }, 2));
  expect(take()).toEqual(["updated a/db", "updated b/db"]);
  expect(view.unselected("other/db")).toBeUndefined();
});

test("a status stays with its object, and goes with another uid", async () => {
  const { resources, view } = scene();
  resources.put("db", resource({ namespaceSelector: SHOP }));
  await write(view, "a/db", { syncedAt: "now" });
  resources.put("db", resource({ namespaceSelector: SHOP }, 2));
  expect(view.store.get("a/db")).toMatchObject({ status: { syncedAt: "now" } });
  resources.put("db", resource({ namespaceSelector: SHOP }, 1, { uid: "next" }), "next");
  expect(view.store.get("a/db")?.["status"]).toBeUndefined();
});

test("a status of another state of the object is a conflict", async () => {
  const { resources, view } = scene();
  resources.put("db", resource({ namespaceSelector: SHOP }));
  const ref = { namespace: "a", name: "db", uid: "db", resourceVersion: "0" };
  const { signal } = new AbortController();
  await expect(view.replaceStatus(clusterVaultSecretKind, ref, {}, signal)).rejects.toMatchObject({
    kind: "Conflict",
  });
});

test("an object begins with what the status of the resource says of all namespaces", () => {
  const { resources, view } = scene();
  const status = { observedGeneration: 1, items: [], conditions: [], namespaces: { selected: 9 } };
  resources.put("db", { ...resource({ namespaceSelector: SHOP }), status });
  expect(view.store.get("a/db")?.["status"]).toEqual({ observedGeneration: 1, items: [] });
});

test("the namespaces that a resource does not select are reported, those that exist", () => {
  const { resources, namespaces, view } = scene();
  resources.put("db", resource({ namespaceSelector: SHOP, namespaces: ["later"] }));
  const keys: string[] = [];
  view.onUnselected((key) => keys.push(key));
  expect(keys).toEqual(["other/db"]);
  expect(view.unselected("other/db")).toMatchObject({ metadata: { namespace: "other" } });
  expect(["a/db", "gone/db", "other/unknown"].map((key) => view.unselected(key))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(view.absent("db")).toEqual(["later"]);
  namespaces.put("later", { labels: {} });
  expect(view.absent("db")).toEqual([]);
});

test("nothing is reported after the end of a view", () => {
  const { resources, view, take } = scene();
  view[Symbol.dispose]();
  resources.put("db", resource({ namespaceSelector: SHOP }));
  expect(take()).toEqual([]);
});
