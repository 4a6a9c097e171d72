import { Groups } from "../../lib/groups.ts";

/** The objects of a collection by key (`keyOf`). Only the reflector writes it. */
export interface ReadonlyStore<T> {
  readonly size: number;
  get(key: string): T | undefined;
  has(key: string): boolean;
  keys(): IterableIterator<string>;
  values(): IterableIterator<T>;
  entries(): IterableIterator<[string, T]>;
  /** Returns the keys of the objects that the index has under a name; none without an index. */
  indexed(name: string): Iterable<string>;
}

/** Returns the names under which an index has an object. */
export type IndexOf<T> = (key: string, value: T) => Iterable<string>;

/** One difference between two states of the store. */
export type StoreChange<T> =
  | { readonly type: "added"; readonly key: string; readonly now: T }
  | { readonly type: "updated"; readonly key: string; readonly before: T; readonly now: T }
  | { readonly type: "deleted"; readonly key: string; readonly before: T };

/** A stored value, with the identity and version of its object. */
export interface Stored<T> {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly value: T;
}

/**
 * The last known state of a collection. Each write returns its changes; the same version of the
 * same object is not a change.
 */
export class ObjectStore<T> implements ReadonlyStore<T> {
  #stored = new Map<string, Stored<T>>();
  #index = new Groups();
  readonly #indexOf: IndexOf<T>;

  constructor(indexOf: IndexOf<T> = () => []) {
    this.#indexOf = indexOf;
  }

  get size(): number {
    return this.#stored.size;
  }

  get(key: string): T | undefined {
    return this.#stored.get(key)?.value;
  }

  has(key: string): boolean {
    return this.#stored.has(key);
  }

  keys(): IterableIterator<string> {
    return this.#stored.keys();
  }

  *values(): IterableIterator<T> {
    for (const { value } of this.#stored.values()) yield value;
  }

  *entries(): IterableIterator<[string, T]> {
    for (const [key, { value }] of this.#stored) yield [key, value];
  }

  indexed(name: string): Iterable<string> {
    return this.#index.get(name);
  }

  stored(key: string): Stored<T> | undefined {
    return this.#stored.get(key);
  }

  /** Stores an object and returns the changes: none if its version is stored already. */
  set(key: string, now: Stored<T>): StoreChange<T>[] {
    const before = this.#stored.get(key);
    this.#stored.set(key, now);
    this.#reindex(key, before, now);
    return difference(key, before, now);
  }

  /** Deletes an object, unless its name now belongs to an object with another `uid`. */
  delete(key: string, uid: string | undefined): StoreChange<T>[] {
    const before = this.#stored.get(key);
    if (before === undefined || before.uid !== uid) return [];
    this.#stored.delete(key);
    this.#reindex(key, before, undefined);
    return difference(key, before, undefined);
  }

  /** Replaces the whole content by `next`; the returned changes start with the deletions. */
  replaceAll(next: Map<string, Stored<T>>): StoreChange<T>[] {
    const before = this.#stored;
    this.#stored = next;
    this.#index = new Groups();
    for (const [key, now] of next) this.#reindex(key, undefined, now);
    const gone = [...before].filter(([key]) => !next.has(key));
    return [
      ...gone.flatMap(([key, stored]) => difference(key, stored, undefined)),
      ...[...next].flatMap(([key, stored]) => difference(key, before.get(key), stored)),
    ];
  }

  #reindex(key: string, before: Stored<T> | undefined, now: Stored<T> | undefined): void {
    for (const name of before === undefined ? [] : this.#indexOf(key, before.value))
      this.#index.remove(name, key);
    for (const name of now === undefined ? [] : this.#indexOf(key, now.value))
      this.#index.add(name, key);
  }
}

function difference<T>(
  key: string,
  before: Stored<T> | undefined,
  now: Stored<T> | undefined,
): StoreChange<T>[] {
  if (!before) return now ? [{ type: "added", key, now: now.value }] : [];
  if (!now) return [{ type: "deleted", key, before: before.value }];
  if (before.uid !== now.uid)
    return [...difference(key, before, undefined), ...difference(key, undefined, now)];
  if (before.resourceVersion === now.resourceVersion && now.resourceVersion !== undefined)
    return [];
  return [{ type: "updated", key, before: before.value, now: now.value }];
}
