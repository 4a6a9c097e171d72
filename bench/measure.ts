import { quantile } from "./statistics.ts";

/** A benchmark case. */
export interface Case {
  readonly name: string;
  /** Name of the case whose throughput is the divisor of the ratio. */
  readonly baseline: string;
  /** Number of concurrent workers. */
  readonly concurrency: number;
  /** Runs the measured operation once. */
  readonly run: (worker: number) => Promise<void>;
}

/** The result of one repeat. Throughput in 1/s, latencies in ms. */
export interface Sample {
  readonly throughput: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Runs the case repeatedly on all workers for `forMs`. */
export async function measure({ run, concurrency }: Case, forMs: number): Promise<Sample> {
  const times: number[] = [];
  const start = performance.now();
  const work = async (worker: number): Promise<void> => {
    do {
      const started = performance.now();
      await run(worker);
      times.push(performance.now() - started);
    } while (performance.now() - start < forMs);
  };
  await Promise.all(Array.from({ length: concurrency }, (_, worker) => work(worker)));
  const seconds = (performance.now() - start) / 1000;
  times.sort((a, b) => a - b);
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantile(times, share));
  return { throughput: times.length / seconds, p50: p50 ?? 0, p95: p95 ?? 0, p99: p99 ?? 0, max: times.at(-1) ?? 0 };
}
