import { defaultMetadata } from "../../../../src/protocol/metadata.ts";
import type { ExposedSecret, SecretRecord } from "../../../../src/protocol/responses.ts";

const DAY_MS = 86_400_000;
const EXPIRATION_DAYS = 10;
/** Minutes until a secret is removed whose creator sets no time. */
const DELETE_MINUTES = 525_600_000;
const DELETE_AT = new Date(Date.now() + DELETE_MINUTES * 60_000).toISOString();
const EXPIRES_AT = new Date(Date.now() + EXPIRATION_DAYS * DAY_MS).toISOString();

interface Entry {
  readonly record: SecretRecord;
  readonly value: string;
}

/** The secrets of one account of the stub, with the latest version of each only. */
export class StubAccount {
  readonly #email: string;
  readonly #entries = new Map<string, Entry>();
  readonly #waiting = new Set<() => void>();
  #changes = 0;
  #list: Buffer | undefined;

  constructor(email: string) {
    this.#email = email;
  }

  get etag(): string {
    return `W/"${this.#changes}"`;
  }

  /** The body of a list, kept until a change. */
  get list(): Buffer {
    this.#list ??= Buffer.from(
      JSON.stringify({ secrets: [...this.#entries.values()].map(({ record }) => record) }),
    );
    return this.#list;
  }

  /** Stores the next version. */
  protect(name: string, value: string): SecretRecord {
    const now = new Date().toISOString();
    const record: SecretRecord = {
      key_name: name,
      key_version: (this.#entries.get(name)?.record.key_version ?? 0) + 1,
      owner: this.#email,
      shared: false,
      permission: "RW",
      metadata: defaultMetadata,
      delete_time: DELETE_MINUTES,
      created_at: now,
      updated_at: now,
      expires_at: EXPIRES_AT,
      expired: false,
      delete_at: DELETE_AT,
    };
    this.#entries.set(name, { record, value });
    this.#changes += 1;
    this.#list = undefined;
    for (const notify of this.#waiting) notify();
    return record;
  }

  /** Returns the latest version; `undefined` if there is none, or another one is asked for. */
  expose(name: string, version: unknown): ExposedSecret | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    const { key_name, key_version, metadata, owner, expired } = entry.record;
    if (version !== undefined && version !== key_version) return undefined;
    return { key_name, key_value: entry.value, key_version, metadata, owner, expired };
  }

  /** Resolves at the next change, or after `ms`. */
  async change(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }
}
