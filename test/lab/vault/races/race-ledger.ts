import { setTimeout as sleep } from "node:timers/promises";
import type { VaultClient, VaultResponse } from "../vault-client.ts";

/** Time after a response that says nothing about a race, such as 429, in milliseconds. */
const REJECTED_MS = 20;

/**
 * A period in which nothing may succeed: from the acknowledgment of what forbids it, until what
 * permits it again is sent.
 */
export class Closed {
  #period: object | undefined;

  begin(): void {
    this.#period = {};
  }

  end(): void {
    this.#period = undefined;
  }

  /** Identifies the current period. */
  get period(): object | undefined {
    return this.#period;
  }
}

/** Counts and broken rules of a run of races. */
export class RaceLedger {
  /** Number of requests and commands that succeeded, by race. */
  readonly counts: Record<string, number> = {};
  readonly violations: string[] = [];
  /** Number of values that were read, by operation and account. */
  readonly reads = new Map<string, number>();

  count(race: string): void {
    this.counts[race] = (this.counts[race] ?? 0) + 1;
  }

  violated(rule: string): void {
    if (!this.violations.includes(rule)) this.violations.push(rule);
  }

  /** Sends a request that must not succeed while `closed`. */
  async attempt(
    race: string,
    closed: Closed,
    request: () => Promise<VaultResponse>,
  ): Promise<VaultResponse> {
    const before = closed.period;
    const response = await request();
    if (response.status === 200) {
      this.count(race);
      if (before !== undefined && closed.period === before)
        this.violated(`${race}: a request succeeded that must not`);
    } else if (response.status !== 401) await sleep(REJECTED_MS);
    return response;
  }

  /** Reads a value, and counts it for the comparison with the audit log. */
  async read(
    client: VaultClient,
    operation: "expose" | "expose_link",
    key_name: string,
  ): Promise<VaultResponse> {
    const response = await client.call(operation, { key_name });
    const key = `${operation} ${client.email}`;
    if (response.status === 200) this.reads.set(key, (this.reads.get(key) ?? 0) + 1);
    return response;
  }
}
