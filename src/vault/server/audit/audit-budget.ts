import { errors } from "../errors.ts";
import type { AuditFields } from "./audit-line.ts";

/**
 * Bytes of a line that its request pays for; each further started KiB counts as a further request.
 */
const BYTES_PER_REQUEST = 1024;

/** A rate limit per account. */
interface Rate {
  take(email: string): number;
  wait(email: string): number;
  charge(email: string, tokens: number): void;
  prune(): void;
}

interface AuditBudgetOptions {
  /** Rate of the bytes that each account adds to the log. */
  readonly bytes: Rate;
  /** Rate of the requests of each account while the disk space is low. */
  readonly lowSpace: Rate;
  /** Reports whether the disk space is low. */
  readonly isLow: () => boolean;
  /** Request rate of accounts. */
  readonly requests: Pick<Rate, "charge">;
  /** The log of the summaries. */
  readonly log: { append(fields: AuditFields): Promise<void> } | undefined;
}

/**
 * The part of the audit log, and so of its disk, that each account may fill
 * (docs/vault-server.md#audit-log). Accounts are canonical emails.
 */
export class AuditBudget implements AsyncDisposable {
  readonly #options: AuditBudgetOptions;
  /** Number of rejected requests without a line since the last summary. */
  #omitted = new Map<string, number>();

  constructor(options: AuditBudgetOptions) {
    this.#options = options;
  }

  /**
   * Admits a request of an account. While the disk space is low it counts against a low rate,
   * unless it frees space and succeeds: call `rejected` when it does not.
   * @throws ServiceError `rate_limited`
   */
  admit(email: string, freesSpace: boolean): void {
    const { bytes, lowSpace, isLow } = this.#options;
    const spent = bytes.wait(email);
    if (spent > 0) throw errors.auditBudgetSpent(spent * 1000, email);
    if (!isLow()) return;
    const wait = freesSpace ? lowSpace.wait(email) : lowSpace.take(email);
    if (wait > 0) throw errors.lowSpaceRate(wait * 1000, email);
  }

  /** Counts a request that was to free space and was rejected. */
  rejected(email: string): void {
    if (this.#options.isLow()) this.#options.lowSpace.charge(email, 1);
  }

  /** Charges a line before it is written. */
  charge(email: string, bytes: number): void {
    this.#options.bytes.charge(email, bytes);
    const further = Math.ceil(bytes / BYTES_PER_REQUEST) - 1;
    if (further > 0) this.#options.requests.charge(email, further);
  }

  /** Reports whether an account has used up its part. */
  isSpent(email: string): boolean {
    return this.#options.bytes.wait(email) > 0;
  }

  /**
   * Counts a rejected request that `admit` was not called for. Reports whether it may leave a line.
   */
  affords(email: string): boolean {
    return (
      !this.isSpent(email) && (!this.#options.isLow() || this.#options.lowSpace.take(email) === 0)
    );
  }

  /** Counts a rejected request that leaves no line. */
  omit(email: string): void {
    this.#omitted.set(email, (this.#omitted.get(email) ?? 0) + 1);
  }

  /**
   * Writes a line for each account with requests that left none, and forgets accounts without
   * recent requests.
   */
  async summarize(): Promise<void> {
    const omitted = this.#omitted;
    this.#omitted = new Map();
    this.#options.bytes.prune();
    this.#options.lowSpace.prune();
    for (const [who, requests] of omitted) {
      // The log reports its own failures.
      await this.#options.log?.append({ event: "rejected", who, requests }).catch(() => undefined);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.summarize();
  }
}
