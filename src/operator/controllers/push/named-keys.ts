import { Groups } from "../../lib/groups.ts";

/** Finds keys by the names that each of them has, in both directions. */
export class NamedKeys {
  readonly #names = new Groups();
  readonly #keys = new Groups();

  /** Replaces the names of a key; without any, the key is forgotten. */
  set(key: string, names: readonly string[]): void {
    for (const name of this.namesOf(key)) {
      this.#keys.remove(name, key);
      this.#names.remove(key, name);
    }
    for (const name of names) {
      this.#keys.add(name, key);
      this.#names.add(key, name);
    }
  }

  get(name: string): ReadonlySet<string> {
    return this.#keys.get(name);
  }

  namesOf(key: string): readonly string[] {
    return [...this.#names.get(key)];
  }

  names(): Iterable<string> {
    return this.#keys.names();
  }
}
