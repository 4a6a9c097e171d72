import type { Clock } from "../../../lib/clock.ts";

const PERIOD_MS = 3_600_000;
/** Maximum number of accounts that are remembered. */
const MAX_ACCOUNTS = 10_000;

/**
 * Addresses for which an account asked within an hour whether they would be invited, but shared
 * nothing with them.
 */
export class AskedAddresses {
  readonly #clock: Clock;
  readonly #most: number;
  /** Times of the questions by address, by account. */
  readonly #asked = new Map<string, Map<string, number>>();

  constructor(clock: Clock, most: number) {
    this.#clock = clock;
    this.#most = most;
  }

  /**
   * Reports whether an account may ask about these addresses, those within the last hour included.
   */
  admits(account: string, addresses: readonly string[]): boolean {
    const now = this.#clock.monotonic();
    const recent = [...(this.#asked.get(account) ?? [])].filter(([, at]) => at > now - PERIOD_MS);
    return new Set([...recent.map(([address]) => address), ...addresses]).size <= this.#most;
  }

  /** Remembers that an account has asked about addresses that `admits` admitted. */
  add(account: string, addresses: readonly string[]): void {
    const now = this.#clock.monotonic();
    const recent = [...(this.#asked.get(account) ?? [])].filter(([, at]) => at > now - PERIOD_MS);
    this.#asked.delete(account);
    this.#asked.set(
      account,
      new Map([...recent, ...addresses.map((address) => [address, now] as const)]),
    );
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > MAX_ACCOUNTS && oldest !== undefined) this.#asked.delete(oldest);
  }
}
