import { quantile } from "../statistics.ts";

/** Percentiles of latencies in ms. */
export interface Latencies {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export function latenciesOf(samples: readonly number[]): Latencies {
  const ascending = [...samples].sort((a, b) => a - b);
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantile(ascending, share));
  return {
    count: samples.length,
    p50: p50 ?? 0,
    p95: p95 ?? 0,
    p99: p99 ?? 0,
    max: ascending.at(-1) ?? 0,
  };
}

/** The cells of a table under `latencyColumns`. */
export function latencyCells({ count, p50, p95, p99, max }: Latencies): string[] {
  return [String(count), ...[p50, p95, p99, max].map((value) => value.toFixed(0))];
}

export const latencyColumns = ["changes", "p50 ms", "p95 ms", "p99 ms", "max ms"];
