import { Slots } from "../../../lib/slots.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import { TransientError } from "../vault-error.ts";
import type { BodyMemory } from "./vault-transport.ts";

/** Part of the memory that one tenant gets, if no body needs more. */
const SHARE = 1 / 4;
/**
 * Part of the longest body that is reserved for one whose length is not announced, unless the last
 * one was longer.
 */
const UNANNOUNCED = 1 / 16;
/** Minimum time in ms before the next request for a body that got no memory. */
const RETRY_MS = 1_000;

/**
 * Limits the memory of the responses to all connections of the process, from before a body is read
 * until it is parsed. Tenants take turns, and one gets at most a quarter: the bodies of one vault
 * neither exhaust the memory nor delay the bodies of other vaults.
 */
export class ResponseMemory {
  /** Longest body that is read. */
  readonly maxBytes: number;
  readonly #slots: Slots;

  constructor(maxBytes: number, totalBytes: number) {
    this.maxBytes = maxBytes;
    this.#slots = new Slots(Math.max(totalBytes, maxBytes), Math.max(totalBytes * SHARE, maxBytes));
  }

  /** Returns the memory for the bodies of one operation. One body at a time is read. */
  of(tenant: string, operation: Operation): ResponseBodyMemory {
    return new ResponseBodyMemory({
      slots: this.#slots,
      maxBytes: this.maxBytes,
      tenant,
      operation,
    });
  }
}

interface ResponseBodyOptions {
  readonly slots: Slots;
  readonly maxBytes: number;
  readonly tenant: string;
  readonly operation: Operation;
}

/** The memory for the bodies of one operation, one at a time. */
export class ResponseBodyMemory implements BodyMemory {
  readonly #options: ResponseBodyOptions;
  readonly #leastBytes: number;
  /** Bytes to reserve for the next body without a length. */
  #expected: number;
  #reserved = 0;
  #length = 0;

  constructor(options: ResponseBodyOptions) {
    this.#options = options;
    this.#leastBytes = Math.ceil(options.maxBytes * UNANNOUNCED);
    this.#expected = this.#leastBytes;
  }

  async reserve(announced: number | undefined, signal: AbortSignal): Promise<void> {
    const { slots, tenant, maxBytes } = this.#options;
    const bytes = Math.min(announced ?? this.#expected, maxBytes);
    await slots.take(signal, tenant, bytes).catch(() => this.#fail());
    this.#reserved = bytes;
  }

  /** A body that does not fit fails immediately: waiting bodies could wait for each other. */
  grow(length: number): void {
    const { slots, tenant, maxBytes } = this.#options;
    this.#length = length;
    if (length <= this.#reserved) return;
    const more = Math.max(length, Math.min(2 * this.#reserved, maxBytes)) - this.#reserved;
    if (!slots.tryTake(tenant, more)) this.#fail();
    this.#reserved += more;
  }

  timeout(): Error {
    return new TransientError(this.#options.operation, "timeout");
  }

  /** Returns the memory when the body has been parsed, or was given up. */
  release(): void {
    const { slots, tenant } = this.#options;
    this.#expected = Math.max(this.#leastBytes, this.#length);
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
