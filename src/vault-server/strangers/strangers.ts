import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";

const SUMMARY_MS = 60_000;
/** Maximum number of networks in one summary; further ones are counted together. */
const MAX_NETWORKS = 1000;

interface StrangersOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Rate limit of failures per network: returns 0, or the seconds until the next one. */
  readonly rate: { take(network: string): number; prune(): void };
  /** Audit log of the summaries. */
  readonly audit: { append(fields: Readonly<Record<string, unknown>>): Promise<void> } | undefined;
}

/**
 * Failed requests of callers who are not authenticated, counted per network. Beyond the rate they leave no line each in the audit log,
 * but one a minute and network, so that a stranger cannot fill the disk.
 */
export class Strangers implements AsyncDisposable {
  readonly #options: StrangersOptions;
  #rejected = new Map<string, number>();
  #timer: Timer | undefined;
  #summary: Promise<void> = Promise.resolve();

  constructor(options: StrangersOptions) {
    this.#options = options;
  }

  /** Counts a failed request. Returns 0, or the seconds until the next one is admitted: this one is in the summary only. */
  fail(network: string): number {
    const wait = this.#options.rate.take(network);
    if (wait > 0) this.#count(network);
    return wait;
  }

  #count(network: string): void {
    const known = this.#rejected.has(network) || this.#rejected.size < MAX_NETWORKS ? network : "others";
    this.#rejected.set(known, (this.#rejected.get(known) ?? 0) + 1);
    this.#timer ??= this.#options.clock.timer(SUMMARY_MS, () => this.#summarize());
  }

  #summarize(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const rejected = this.#rejected;
    this.#rejected = new Map();
    this.#summary = this.#summary.then(() => this.#write(rejected));
  }

  async #write(rejected: ReadonlyMap<string, number>): Promise<void> {
    const { audit, logger } = this.#options;
    for (const [client, requests] of rejected) {
      logger.warn({ event: "rejected_strangers", client, requests }, "rejected requests without valid credentials");
      // The log reports its own failures.
      await audit?.append({ event: "rejected", client, requests }).catch(() => undefined);
    }
  }

  /** Forgets networks without recent failures. */
  prune(): void {
    this.#options.rate.prune();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#summarize();
    await this.#summary;
  }
}
