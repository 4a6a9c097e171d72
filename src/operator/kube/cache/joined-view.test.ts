import { expect, test } from "vitest";
import type { Watched } from "./filtered-view.ts";
import { joinedView } from "./joined-view.ts";
import { ObjectStore, type StoreChange } from "./object-store.ts";

function subscribe<H>(all: Set<H>, handler: H): Disposable {
  all.add(handler);
  return { [Symbol.dispose]: () => void all.delete(handler) };
}

/** Returns a collection whose changes the test makes. */
function collection() {
  const store = new ObjectStore<string>();
  const handlers = new Set<(change: StoreChange<string>) => void>();
  const reconnected = new Set<() => void>();
  const watched: Watched<string> = {
    store,
    onChange: (handler) => subscribe(handlers, handler),
    onReconnect: (handler) => subscribe(reconnected, handler),
  };
  const set = (key: string, value: string): void => {
    for (const change of store.set(key, { uid: key, resourceVersion: value, value }))
      for (const handler of handlers) handler(change);
  };
  const reconnect = (): void => {
    for (const handler of reconnected) handler();
  };
  return { watched, set, reconnect };
}

test("a joined view has the objects and changes of all of its collections", () => {
  const [one, other] = [collection(), collection()];
  one.set("shop/vault", "a");
  const view = joinedView(one.watched, other.watched);
  const seen: string[] = [];
  {
    using _changes = view.onChange(({ type, key }) => void seen.push(`${type} ${key}`));
    using _reconnects = view.onReconnect(() => void seen.push("reconnect"));
    other.set("vault", "b");
    one.set("shop/vault", "c");
    other.reconnect();
  }
  other.set("vault", "d");
  expect(seen).toEqual(["added vault", "updated shop/vault", "reconnect"]);
  const { store } = view;
  expect([...store.entries()]).toEqual([
    ["shop/vault", "c"],
    ["vault", "d"],
  ]);
  expect(store.size).toBe(2);
  expect(store.get("vault")).toBe("d");
  expect(store.get("shop/vault")).toBe("c");
  expect(store.has("vault")).toBe(true);
  expect(store.has("blog/vault")).toBe(false);
  expect([...store.keys()]).toEqual(["shop/vault", "vault"]);
  expect([...store.values()]).toEqual(["c", "d"]);
});
