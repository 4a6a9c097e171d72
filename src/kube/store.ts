/** What a reflector knows of a collection, by key (`keyOf`). Only the reflector writes it. */
export interface ReadonlyStore<T> {
  readonly size: number;
  get(key: string): T | undefined;
  has(key: string): boolean;
  keys(): IterableIterator<string>;
  values(): IterableIterator<T>;
  entries(): IterableIterator<[string, T]>;
}

/** One difference between what the store held and what it holds now. */
export type StoreChange<T> =
  | { readonly type: "added"; readonly key: string; readonly now: T }
  | { readonly type: "updated"; readonly key: string; readonly before: T; readonly now: T }
  | { readonly type: "deleted"; readonly key: string; readonly before: T };
