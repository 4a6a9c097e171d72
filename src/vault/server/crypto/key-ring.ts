import type { Redacted } from "../../../lib/redacted.ts";
import { MasterKey } from "./master-key.ts";

/** A record is wrapped by a master key that the server does not have. */
export class UnknownKeyError extends Error {
  override readonly name = "UnknownKeyError";
}

/** A source of master keys. */
export interface KeySource {
  /**
   * Returns at least one key, or `undefined` when nothing has changed since the last call.
   * @throws Error when they cannot be read
   */
  read(): readonly MasterKey[] | undefined;
}

/**
 * The master keys of a server. Any of them unwraps; the data names the one that wraps
 * (`currentKey`). The ring looks up an unknown key in the source again: a key added there needs no
 * restart.
 */
export class KeyRing {
  readonly #source: KeySource;
  readonly #keys = new Map<string, MasterKey>();

  /** @throws Error when the source cannot be read */
  constructor(source: KeySource) {
    this.#source = source;
    this.#load();
  }

  /** Returns a ring with a fixed set of keys. */
  static of(...keys: readonly Redacted<Uint8Array>[]): KeyRing {
    return new KeyRing({ read: () => keys.map((key) => new MasterKey(key)) });
  }

  /**
   * Adds keys and never removes one: records that were just read may still need a key that has left
   * the source.
   */
  #load(): void {
    for (const key of this.#source.read() ?? []) this.#keys.set(key.id, key);
  }

  /** Ids in the order of the source. */
  get ids(): readonly string[] {
    return [...this.#keys.keys()];
  }

  find(id: string): MasterKey | undefined {
    if (!this.#keys.has(id)) this.#load();
    return this.#keys.get(id);
  }

  /** @throws UnknownKeyError */
  get(id: string): MasterKey {
    const key = this.find(id);
    if (!key) throw new UnknownKeyError(`unknown master key ${id}: add it to the master key file`);
    return key;
  }
}
