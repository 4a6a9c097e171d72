import type { ReadonlyStore } from "./object-store.ts";

/** Several stores without a common key, read as one. */
export class JoinedStore<T> implements ReadonlyStore<T> {
  readonly #stores: readonly ReadonlyStore<T>[];
  readonly #storeOf: (key: string) => ReadonlyStore<T> | undefined;

  /** @param storeOf returns the store that may have a key */
  constructor(stores: readonly ReadonlyStore<T>[], storeOf: (key: string) => ReadonlyStore<T> | undefined) {
    this.#stores = stores;
    this.#storeOf = storeOf;
  }

  get size(): number {
    return this.#stores.reduce((sum, { size }) => sum + size, 0);
  }

  get(key: string): T | undefined {
    return this.#storeOf(key)?.get(key);
  }

  has(key: string): boolean {
    return this.#storeOf(key)?.has(key) ?? false;
  }

  *keys(): IterableIterator<string> {
    for (const store of this.#stores) yield* store.keys();
  }

  *values(): IterableIterator<T> {
    for (const store of this.#stores) yield* store.values();
  }

  *entries(): IterableIterator<[string, T]> {
    for (const store of this.#stores) yield* store.entries();
  }
}
