import type { KubeObject, ObjectRef } from "../resource.ts";
import type { ReadonlyStore, StoreChange } from "./object-store.ts";

/** A collection that is kept up to date, and its changes. */
export interface Watched<T> {
  readonly store: ReadonlyStore<T>;
  /**
   * Reports every change in order, after it is stored. The existing content of the store is not
   * reported.
   */
  onChange(handler: (change: StoreChange<T>) => void): Disposable;
  /** Calls the handler when the first list or watch after a failure succeeds. */
  onReconnect(handler: () => void): Disposable;
  /** Brings one object up to date; only in a collection that is read instead of watched. */
  read?(ref: ObjectRef, signal: AbortSignal): Promise<void>;
  /**
   * Takes in an object as this process wrote it, and reports the change; only in a collection that
   * is read.
   */
  written?(object: KubeObject): void;
  /** Drops an object that is not read any more, without reporting it. */
  forget?(ref: ObjectRef): void;
}

/**
 * Returns the part of a collection that satisfies `includes`. An object that ceases to satisfy it
 * is reported as deleted.
 */
export function filteredView<T>(
  source: Watched<T>,
  includes: (key: string, value: T) => boolean,
): Watched<T> {
  return {
    store: new FilteredStore(source.store, includes),
    onChange: (handler) =>
      source.onChange((change) => {
        const visible = restrict(change, includes);
        if (visible !== undefined) handler(visible);
      }),
    onReconnect: (handler) => source.onReconnect(handler),
  };
}

function restrict<T>(
  change: StoreChange<T>,
  includes: (key: string, value: T) => boolean,
): StoreChange<T> | undefined {
  const { key } = change;
  const before = "before" in change && includes(key, change.before) ? change.before : undefined;
  const now = "now" in change && includes(key, change.now) ? change.now : undefined;
  if (before === undefined) return now === undefined ? undefined : { type: "added", key, now };
  return now === undefined
    ? { type: "deleted", key, before }
    : { type: "updated", key, before, now };
}

class FilteredStore<T> implements ReadonlyStore<T> {
  readonly #source: ReadonlyStore<T>;
  readonly #includes: (key: string, value: T) => boolean;

  constructor(source: ReadonlyStore<T>, includes: (key: string, value: T) => boolean) {
    this.#source = source;
    this.#includes = includes;
  }

  /** Counts the objects: not for frequent use. */
  get size(): number {
    return [...this.keys()].length;
  }

  get(key: string): T | undefined {
    const value = this.#source.get(key);
    return value !== undefined && this.#includes(key, value) ? value : undefined;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  indexed(name: string): Iterable<string> {
    return [...this.#source.indexed(name)].filter((key) => this.has(key));
  }

  *keys(): IterableIterator<string> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): IterableIterator<T> {
    for (const [, value] of this.entries()) yield value;
  }

  *entries(): IterableIterator<[string, T]> {
    for (const [key, value] of this.#source.entries())
      if (this.#includes(key, value)) yield [key, value];
  }
}

/** Calls the handler for every current object, as added, and for every later change. */
export function replayAndSubscribe<T>(
  watched: Watched<T>,
  handler: (change: StoreChange<T>) => void,
): Disposable {
  for (const [key, now] of watched.store.entries()) handler({ type: "added", key, now });
  return watched.onChange(handler);
}
