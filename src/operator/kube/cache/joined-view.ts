import type { Watched } from "./filtered-view.ts";
import type { ReadonlyStore } from "./object-store.ts";

/** Several stores without a common key, read as one. */
export class JoinedStore<T> implements ReadonlyStore<T> {
  readonly #stores: () => Iterable<ReadonlyStore<T>>;
  readonly #storeOf: (key: string) => ReadonlyStore<T> | undefined;

  /**
   * @param stores returns all stores
   * @param storeOf returns the store that may have a key
   */
  constructor(
    stores: () => Iterable<ReadonlyStore<T>>,
    storeOf: (key: string) => ReadonlyStore<T> | undefined,
  ) {
    this.#stores = stores;
    this.#storeOf = storeOf;
  }

  get size(): number {
    let sum = 0;
    for (const { size } of this.#stores()) sum += size;
    return sum;
  }

  get(key: string): T | undefined {
    return this.#storeOf(key)?.get(key);
  }

  has(key: string): boolean {
    return this.#storeOf(key)?.has(key) ?? false;
  }

  *indexed(name: string): IterableIterator<string> {
    for (const store of this.#stores()) yield* store.indexed(name);
  }

  *keys(): IterableIterator<string> {
    for (const store of this.#stores()) yield* store.keys();
  }

  *values(): IterableIterator<T> {
    for (const store of this.#stores()) yield* store.values();
  }

  *entries(): IterableIterator<[string, T]> {
    for (const store of this.#stores()) yield* store.entries();
  }
}

/** Returns several collections without a common key as one. */
export function joinedView<T>(...sources: readonly Watched<T>[]): Watched<T> {
  const stores = sources.map(({ store }) => store);
  const each = (subscribe: (source: Watched<T>) => Disposable): Disposable => {
    const stack = new DisposableStack();
    for (const source of sources) stack.use(subscribe(source));
    return stack;
  };
  return {
    store: new JoinedStore(
      () => stores,
      (key) => stores.find((store) => store.has(key)),
    ),
    onChange: (handler) => each((source) => source.onChange(handler)),
    onReconnect: (handler) => each((source) => source.onReconnect(handler)),
  };
}
