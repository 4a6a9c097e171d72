import type { Redacted } from "../../../lib/redacted.ts";

/** Cost of an entry in addition to its bytes, so that empty values are bounded too. */
const OVERHEAD_BYTES = 256;

/** Identifies one version of a secret or file of one connection. */
export interface CacheKey {
  /** From `newConnection`. */
  readonly connection: number;
  readonly kind: "secret" | "file";
  readonly name: string;
  readonly owner: string | undefined;
  readonly version: number;
}

interface Entry {
  readonly key: CacheKey;
  readonly bytes: Redacted<Uint8Array>;
  readonly cost: number;
}

/**
 * Caches fetched bytes in memory, at most `maxBytes` for all connections together; evicts the least recently used first. A
 * version is immutable, so an entry is valid until the caller forgets it: when its name is recreated or its connection ends.
 */
export class ValueCache {
  readonly #maxBytes: number;
  /** In order of last use. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  #connections = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns a number that is unique to one connection. */
  newConnection(): number {
    this.#connections += 1;
    return this.#connections;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: CacheKey): Redacted<Uint8Array> | undefined {
    const id = identity(key);
    const entry = this.#entries.get(id);
    if (!entry) return undefined;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return entry.bytes;
  }

  set(key: CacheKey, bytes: Redacted<Uint8Array>): void {
    const id = identity(key);
    this.#drop(id);
    const cost = bytes.reveal().byteLength + OVERHEAD_BYTES;
    if (cost > this.#maxBytes) return;
    this.#entries.set(id, { key, bytes, cost });
    this.#bytes += cost;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#drop(oldest);
    }
  }

  /** Removes every entry whose key matches. */
  forget(matches: (key: CacheKey) => boolean): void {
    for (const [id, { key }] of this.#entries) if (matches(key)) this.#drop(id);
  }

  #drop(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.delete(id);
    this.#bytes -= entry.cost;
  }
}

function identity({ connection, kind, name, owner, version }: CacheKey): string {
  return JSON.stringify([connection, kind, name, owner ?? null, version]);
}
