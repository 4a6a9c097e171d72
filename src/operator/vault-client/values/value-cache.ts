import { Redacted } from "../../../lib/redacted.ts";

/** Cost of an entry in addition to its bytes, to bound empty values too. */
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

/**
 * Bytes as a string of as many characters: an array would take 500 bytes more, and most values are
 * small.
 */
type Packed = Redacted<string>;

/**
 * Caches fetched bytes in memory, at most `maxBytes` for all connections together; evicts the least
 * recently used first. A version is immutable, so an entry is valid until the caller forgets it:
 * when its name is recreated or its connection ends.
 */
export class ValueCache {
  readonly #maxBytes: number;
  /** In order of last use. */
  readonly #entries = new Map<string, Packed>();
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
    return new Redacted(Buffer.from(entry.reveal(), "latin1"));
  }

  set(key: CacheKey, bytes: Redacted<Uint8Array>): void {
    const id = identity(key);
    this.#drop(id);
    const value = bytes.reveal();
    const cost = value.byteLength + OVERHEAD_BYTES;
    if (cost > this.#maxBytes) return;
    this.#entries.set(
      id,
      new Redacted(
        Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("latin1"),
      ),
    );
    this.#bytes += cost;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#drop(oldest);
    }
  }

  /** Removes every entry whose key matches. */
  forget(matches: (key: CacheKey) => boolean): void {
    for (const id of this.#entries.keys()) if (matches(keyOf(id))) this.#drop(id);
  }

  #drop(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.delete(id);
    this.#bytes -= entry.reveal().length + OVERHEAD_BYTES;
  }
}

function identity({ connection, kind, name, owner, version }: CacheKey): string {
  return JSON.stringify([connection, kind, name, owner ?? null, version]);
}

function keyOf(id: string): CacheKey {
  const parts: [number, CacheKey["kind"], string, string | null, number] = JSON.parse(id);
  const [connection, kind, name, owner, version] = parts;
  return { connection, kind, name, owner: owner ?? undefined, version };
}
