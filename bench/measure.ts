import { quantile } from "./statistics.ts";

/** One thing that is measured. `run` does it once, as one of so many at the same time. */
export interface Case {
  readonly name: string;
  /** The case whose throughput its own is divided by. */
  readonly baseline: string;
  readonly atOnce: number;
  readonly run: (worker: number) => Promise<void>;
}

/** One repeat. Throughput in 1/s, the others in milliseconds. */
export interface Sample {
  readonly throughput: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Does it over and over for so long, each worker again as soon as it is done. */
export async function measure({ run, atOnce }: Case, forMs: number): Promise<Sample> {
  const times: number[] = [];
  const start = performance.now();
  const work = async (worker: number): Promise<void> => {
    do {
      const begun = performance.now();
      await run(worker);
      times.push(performance.now() - begun);
    } while (performance.now() - start < forMs);
  };
  await Promise.all(Array.from({ length: atOnce }, (_, worker) => work(worker)));
  const seconds = (performance.now() - start) / 1000;
  times.sort((a, b) => a - b);
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantile(times, share));
  return { throughput: times.length / seconds, p50: p50 ?? 0, p95: p95 ?? 0, p99: p99 ?? 0, max: times.at(-1) ?? 0 };
}
