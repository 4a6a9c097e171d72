import { Slots } from "../../../lib/slots.ts";
import { TransientError } from "../vault-error.ts";
import type { BodyMemory } from "./vault-transport.ts";

const MIB = 1024 * 1024;
/** Bytes of all lists that are read or parsed at a time. */
const TOTAL_BYTES = 64 * MIB;
/** Part of them that one tenant gets, if no list needs more. */
const SHARE = 1 / 4;
/** Bytes reserved for a body whose length is not announced, unless the last one was longer. */
const UNANNOUNCED_BYTES = MIB;

/** Minimum time in ms before the next request for a list that got no memory. */
const RETRY_MS = 1_000;

type ListKind = "list_no_dup" | "list_file";

/**
 * Limits the memory of the lists of all connections of the process, from before a body is read until it is parsed. Tenants take turns,
 * and one gets at most a quarter, so that the lists of one vault neither exhaust the memory nor delay those of others.
 */
export class ListMemory {
  /** Longest list that is read. */
  readonly maxBytes: number;
  readonly #slots: Slots;

  constructor(maxBytes: number, totalBytes = Math.max(TOTAL_BYTES, maxBytes)) {
    this.maxBytes = maxBytes;
    this.#slots = new Slots(totalBytes, Math.max(totalBytes * SHARE, maxBytes));
  }

  /** Returns the memory for the bodies of one list, of which one at a time is read. */
  of(tenant: string, operation: ListKind): ListBodyMemory {
    return new ListBodyMemory({ slots: this.#slots, maxBytes: this.maxBytes, tenant, operation });
  }
}

interface ListBodyOptions {
  readonly slots: Slots;
  readonly maxBytes: number;
  readonly tenant: string;
  readonly operation: ListKind;
}

/** The memory for the bodies of one list, one at a time. */
export class ListBodyMemory implements BodyMemory {
  readonly #options: ListBodyOptions;
  #expected = UNANNOUNCED_BYTES;
  #reserved = 0;
  #length = 0;

  constructor(options: ListBodyOptions) {
    this.#options = options;
  }

  async reserve(announced: number | undefined, signal: AbortSignal): Promise<void> {
    const { slots, tenant, maxBytes } = this.#options;
    const bytes = Math.min(announced ?? this.#expected, maxBytes);
    await slots.take(signal, tenant, bytes).catch(() => this.#fail());
    this.#reserved = bytes;
  }

  /** A body that does not fit is not waited for, because those that wait could wait for each other. */
  grow(length: number): void {
    const { slots, tenant, maxBytes } = this.#options;
    this.#length = length;
    if (length <= this.#reserved) return;
    const more = Math.min(Math.max(length, 2 * this.#reserved), maxBytes) - this.#reserved;
    if (!slots.tryTake(tenant, more)) this.#fail();
    this.#reserved += more;
  }

  timeout(): Error {
    return new TransientError(this.#options.operation, "timeout");
  }

  /** Returns the memory when the body has been parsed, or was given up. */
  release(): void {
    const { slots, tenant } = this.#options;
    this.#expected = Math.max(UNANNOUNCED_BYTES, this.#length);
    if (this.#reserved > 0) slots.release(tenant, this.#reserved);
    this.#reserved = 0;
    this.#length = 0;
  }

  #fail(): never {
    // The next request waits for what the longest body needs.
    this.#length = this.#options.maxBytes;
    throw new TransientError(this.#options.operation, "no_memory", { retryAfterMs: RETRY_MS });
  }
}
