import type { Redacted } from "../../lib/redacted.ts";
import { MasterKey } from "./master-key.ts";

/** Where master keys come from. */
export interface KeySource {
  /** At least one; `undefined` when they are those of the last call. @throws Error when they cannot be read */
  read(): readonly MasterKey[] | undefined;
}

/**
 * The master keys a server has. Any of them opens; which one wraps is for the data to say (`currentKey`). A key it does not know it looks
 * for in its source once more, so a key added there is taken up without a restart.
 */
export class KeyRing {
  readonly #source: KeySource;
  readonly #keys = new Map<string, MasterKey>();

  /** @throws Error when the source cannot be read */
  constructor(source: KeySource) {
    this.#source = source;
    this.#load();
  }

  /** A ring that never gets another key. */
  static of(...keys: readonly Redacted<Uint8Array>[]): KeyRing {
    return new KeyRing({ read: () => keys.map((key) => new MasterKey(key)) });
  }

  /** Adds only: what was read under a key a moment ago is opened with it, also when the key has just left the source. */
  #load(): void {
    for (const key of this.#source.read() ?? []) this.#keys.set(key.id, key);
  }

  /** By the order of the source. */
  get ids(): readonly string[] {
    return [...this.#keys.keys()];
  }

  find(id: string): MasterKey | undefined {
    if (!this.#keys.has(id)) this.#load();
    return this.#keys.get(id);
  }

  /** @throws Error when there is no such key */
  get(id: string): MasterKey {
    const key = this.find(id);
    if (!key) throw new Error(`unknown master key ${id}: add it to the master key file`);
    return key;
  }
}
