import { measure, type Case, type Sample } from "./measure.ts";
import { spreadOf } from "./statistics.ts";
import { table } from "./table.ts";

export interface Settings {
  /** Duration of each case in each repeat. */
  readonly seconds: number;
  /** Number of repeats after the warm-up. */
  readonly repeats: number;
}

/**
 * All repeats of a case. Throughput in 1/s, latencies in ms, CPU time in seconds per 1,000
 * operations.
 */
export interface Measured {
  readonly name: string;
  readonly clients: number;
  readonly throughput: readonly number[];
  readonly p50: readonly number[];
  readonly p95: readonly number[];
  readonly p99: readonly number[];
  readonly max: number;
  /** Empty if it was not measured. */
  readonly cpu: readonly number[];
  readonly baseline: string;
  /** Throughput divided by the throughput of the baseline in the same repeat. */
  readonly ratio: readonly number[];
}

/** Collects the samples of a case and divides them by the samples of its baseline. */
export function summary(
  { name, baseline, concurrency }: Case,
  own: readonly Sample[],
  floor: readonly Sample[],
): Measured {
  return {
    name,
    clients: concurrency,
    throughput: own.map((sample) => sample.throughput),
    p50: own.map((sample) => sample.p50),
    p95: own.map((sample) => sample.p95),
    p99: own.map((sample) => sample.p99),
    max: Math.max(...own.map((sample) => sample.max)),
    cpu: own.flatMap((sample) => sample.cpu ?? []),
    baseline,
    ratio: own.map((sample, index) => sample.throughput / (floor[index]?.throughput ?? Number.NaN)),
  };
}

/** Measures the cases in turn within each repeat: other load on the machine affects all of them. */
export async function measureAll(
  cases: readonly Case[],
  { seconds, repeats }: Settings,
): Promise<Measured[]> {
  const samples = new Map<string, Sample[]>(cases.map(({ name }) => [name, []]));
  for (let repeat = 0; repeat <= repeats; repeat += 1) {
    for (const each of cases) {
      const sample = await measure(each, seconds * 1000);
      if (repeat > 0) samples.get(each.name)?.push(sample);
    }
    process.stderr.write(repeat === 0 ? "warmed up\n" : `repeat ${repeat} of ${repeats}\n`);
  }
  return cases.map((each) =>
    summary(each, samples.get(each.name) ?? [], samples.get(each.baseline) ?? []),
  );
}

const short = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toFixed(3);

function medianAndRange(values: readonly number[]): string[] {
  const { median, iqr } = spreadOf(values);
  return [short(median), short(iqr)];
}

/** Prints the results as a table, with a column for the CPU time if it was measured. */
export function printTable(result: readonly Measured[]): void {
  const hasCpu = result.some(({ cpu }) => cpu.length > 0);
  const cpuCell = (text: string): string[] => (hasCpu ? [text] : []);
  const columns = [
    "clients",
    "1/s",
    "±IQR",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "max ms",
    ...cpuCell("CPU s/1000"),
  ];
  process.stdout.write(
    table([
      ["", ...columns, "of", "ratio", "±IQR"],
      ...result.map(({ name, clients, throughput, p50, p95, p99, max, cpu, baseline, ratio }) => [
        name,
        String(clients),
        ...medianAndRange(throughput),
        ...[p50, p95, p99].map((times) => short(spreadOf(times).median)),
        short(max),
        ...cpuCell(cpu.length === 0 ? "" : short(spreadOf(cpu).median)),
        ...(baseline === name ? ["", "", ""] : [baseline, ...medianAndRange(ratio)]),
      ]),
    ]),
  );
}
