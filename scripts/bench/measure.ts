import { quantile } from "./statistics.ts";
import { systemClock, type Clock } from "../../src/lib/clock.ts";

/** A benchmark case. */
export interface Case {
  readonly name: string;
  /** Name of the case whose throughput is the divisor of the ratio. */
  readonly baseline: string;
  /** Number of concurrent workers. */
  readonly concurrency: number;
  /** Runs the measured operation once. */
  readonly run: (worker: number) => Promise<void>;
  /** Returns the CPU time of the server's processes since their start, in seconds. */
  readonly cpuSeconds?: () => Promise<number>;
}

/**
 * The result of one repeat. Throughput in 1/s, latencies in ms, CPU time in seconds per 1,000
 * operations.
 */
export interface Sample {
  readonly throughput: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  readonly cpu: number | undefined;
}

/** Runs `work` and returns its operations as a sample. `work` returns their latencies. */
export async function sampleOf(
  { cpuSeconds }: Case,
  work: () => Promise<number[]>,
): Promise<Sample> {
  const cpuBefore = await cpuSeconds?.();
  const start = performance.now();
  const times = await work();
  const seconds = (performance.now() - start) / 1000;
  const cpuAfter = await cpuSeconds?.();
  times.sort((a, b) => a - b);
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantile(times, share));
  const cpu =
    cpuBefore === undefined || cpuAfter === undefined
      ? undefined
      : ((cpuAfter - cpuBefore) / times.length) * 1000;
  return {
    throughput: times.length / seconds,
    p50: p50 ?? 0,
    p95: p95 ?? 0,
    p99: p99 ?? 0,
    max: times.at(-1) ?? 0,
    cpu,
  };
}

/** Runs the case repeatedly on all workers for `forMs`: each starts again when it has ended. */
export function measure(measured: Case, forMs: number): Promise<Sample> {
  return sampleOf(measured, async () => {
    const times: number[] = [];
    const start = performance.now();
    const work = async (worker: number): Promise<void> => {
      do {
        const started = performance.now();
        await measured.run(worker);
        times.push(performance.now() - started);
      } while (performance.now() - start < forMs);
    };
    await Promise.all(Array.from({ length: measured.concurrency }, (_, worker) => work(worker)));
    return times;
  });
}

/**
 * Starts the case at a fixed rate per second for `forMs`, on the first worker that is free. A
 * latency begins when the operation is due: time spent waiting for a worker, because the server is
 * slow, counts. A timer adds up to a millisecond.
 */
export function measureArrivals(
  measured: Case,
  rate: number,
  forMs: number,
  clock: Pick<Clock, "monotonic" | "sleep"> = systemClock,
): Promise<Sample> {
  return sampleOf(measured, async () => {
    const times: number[] = [];
    const count = Math.max(1, Math.round((rate * forMs) / 1000));
    const start = clock.monotonic();
    let next = 0;
    const work = async (worker: number): Promise<void> => {
      while (next < count) {
        const due = start + (next * 1000) / rate;
        next += 1;
        // A timer counts whole milliseconds.
        for (let early = due - clock.monotonic(); early > 0; early = due - clock.monotonic())
          await clock.sleep(Math.ceil(early));
        await measured.run(worker);
        times.push(clock.monotonic() - due);
      }
    };
    await Promise.all(Array.from({ length: measured.concurrency }, (_, worker) => work(worker)));
    return times;
  });
}
