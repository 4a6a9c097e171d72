const NONE: ReadonlySet<string> = new Set();

/** Finds keys by the names that each of them has, in both directions. */
export class NamedKeys {
  readonly #names = new Map<string, readonly string[]>();
  readonly #keys = new Map<string, Set<string>>();

  /** Replaces the names of a key; without any, the key is forgotten. */
  set(key: string, names: readonly string[]): void {
    for (const name of this.namesOf(key)) {
      const keys = this.#keys.get(name);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(name);
    }
    if (names.length === 0) this.#names.delete(key);
    else this.#names.set(key, names);
    for (const name of names) {
      const keys = this.#keys.get(name) ?? new Set();
      this.#keys.set(name, keys.add(key));
    }
  }

  get(name: string): ReadonlySet<string> {
    return this.#keys.get(name) ?? NONE;
  }

  namesOf(key: string): readonly string[] {
    return this.#names.get(key) ?? [];
  }

  names(): Iterable<string> {
    return this.#keys.keys();
  }
}
