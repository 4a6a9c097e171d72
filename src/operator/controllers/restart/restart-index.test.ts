import { expect, test } from "vitest";
import { ObjectStore } from "../../kube/cache/object-store.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { RestartIndex, restartSource } from "./restart-index.ts";
import { forEachKind } from "../../sync/sync-key.ts";

/**
 * An index of VaultSecrets in the namespace `shop`; `put` returns the number of entries that it
 * then has.
 */
function scene() {
  const store = new ObjectStore<KubeObject>();
  const index = new RestartIndex(
    forEachKind((kind) => (kind === "VaultSecret" ? store : new ObjectStore<KubeObject>())),
  );
  const put = (name: string, target = name, spec: object = {}): number => {
    const status = {
      target: { kind: "Secret", name: target, digest: "d" },
      syncedAt: "2026-01-01T00:00:00Z",
    };
    const object = {
      apiVersion: "v1",
      kind: "VaultSecret",
      metadata: { namespace: "shop", name },
      spec,
      status,
    };
    const before = index.get(`VaultSecret/shop/${name}`);
    store.set(`shop/${name}`, { uid: name, resourceVersion: undefined, value: object });
    index.replace(`VaultSecret/shop/${name}`, before, restartSource("VaultSecret", object));
    return index.size;
  };
  /** Returns the number of entries after the resource was deleted. */
  const remove = (name: string): number => {
    const before = index.get(`VaultSecret/shop/${name}`);
    store.delete(`shop/${name}`, name);
    index.replace(`VaultSecret/shop/${name}`, before, undefined);
    return index.size;
  };
  return { index, put, remove };
}

test("a resource without references takes no entry, and is found by its usual target", () => {
  const { index, put } = scene();
  expect(put("db")).toBe(0);
  expect([...index.writing("Secret/shop/db")]).toEqual(["VaultSecret/shop/db"]);
  expect([...index.writing("ConfigMap/shop/db"), ...index.writing("Secret/shop/other")]).toEqual(
    [],
  );
  expect(index.get("VaultSecret/shop/db")?.content?.digest).toBe("d");
});

test("a target with another name is found until the resource has another one", () => {
  const { index, put } = scene();
  put("app");
  expect(put("db", "app")).toBe(1);
  expect([...index.writing("Secret/shop/app")]).toEqual([
    "VaultSecret/shop/app",
    "VaultSecret/shop/db",
  ]);
  expect([...index.writing("Secret/shop/db")]).toEqual([]);
  expect(put("db")).toBe(0);
  expect([...index.writing("Secret/shop/app")]).toEqual(["VaultSecret/shop/app"]);
});

test("a named workload is found until the reference is removed", () => {
  const { index, put } = scene();
  expect(put("db", "db", { rolloutRestart: [{ kind: "Deployment", name: "web" }] })).toBe(1);
  expect([...index.named()]).toEqual(["Deployment/shop/web"]);
  expect([...index.naming("Deployment/shop/web")]).toEqual(["VaultSecret/shop/db"]);
  expect(put("db")).toBe(0);
  expect([...index.naming("Deployment/shop/web")]).toEqual([]);
});

test("a deleted resource leaves no entry, whatever it had", () => {
  const { index, put, remove } = scene();
  const selector = { matchLabels: { app: "web" } };
  const rolloutRestart = [
    { kind: "Deployment", name: "web" },
    { kind: "StatefulSet", selector },
  ];
  expect(put("db", "app", { rolloutRestart })).toBe(3);
  expect(remove("db")).toBe(0);
  expect([...index.writing("Secret/shop/app")]).toEqual([]);
});
