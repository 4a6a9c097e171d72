import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";

const SUMMARY_MS = 60_000;
/**
 * Maximum number of networks that are counted, and of those named in one summary; further ones are
 * counted together.
 */
const MAX_NETWORKS = 1000;
const NAMED_NETWORKS = 20;
const OTHERS = "others";

interface UnauthenticatedRequestsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Rate limit of requests per network: returns 0, or the seconds until the next one. */
  readonly rate: { take(network: string): number; prune(): void };
  /** Rate limit of lines in the audit log, of all networks. */
  readonly lines: { take(key: string): number };
  /** Audit log of the summaries. */
  readonly audit: { append(fields: Readonly<Record<string, unknown>>): Promise<void> } | undefined;
}

/** Consequences of a request of a stranger. */
interface CountedRequest {
  /** 0, or the seconds until the next request of the network is admitted. */
  readonly wait: number;
  /** False when the request is in the summary only. */
  readonly recorded: boolean;
}

/**
 * Requests of callers who are not authenticated, counted per network and in total. Requests over
 * the rates are not logged one by one. One audit entry a minute sums them up: strangers cannot fill
 * the disk, however many networks they have.
 */
export class UnauthenticatedRequests implements AsyncDisposable {
  readonly #options: UnauthenticatedRequestsOptions;
  #rejected = new Map<string, number>();
  #timer: Timer | undefined;
  #summary: Promise<void> = Promise.resolve();

  constructor(options: UnauthenticatedRequestsOptions) {
    this.#options = options;
  }

  /** Counts a request that may leave a line in the audit log. */
  count(network: string): CountedRequest {
    const { rate, lines } = this.#options;
    const wait = rate.take(network);
    const recorded = wait === 0 && lines.take("all") === 0;
    if (!recorded) this.#count(network);
    return { wait, recorded };
  }

  #count(network: string): void {
    const known =
      this.#rejected.has(network) || this.#rejected.size < MAX_NETWORKS ? network : OTHERS;
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
    for (const [client, requests] of mostFrequent(rejected)) {
      logger.warn(
        { event: "rejected_strangers", client, requests },
        "summarized requests without valid credentials",
      );
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

/** Returns the networks with the most requests, and the sum of the remaining ones. */
function mostFrequent(
  requests: ReadonlyMap<string, number>,
): [network: string, requests: number][] {
  const { [OTHERS]: rest = 0, ...networks } = Object.fromEntries(requests);
  const ordered = Object.entries(networks).sort(([, a], [, b]) => b - a);
  const others = ordered.slice(NAMED_NETWORKS).reduce((sum, [, count]) => sum + count, rest);
  return [
    ...ordered.slice(0, NAMED_NETWORKS),
    ...(others > 0 ? [[OTHERS, others] as [string, number]] : []),
  ];
}
