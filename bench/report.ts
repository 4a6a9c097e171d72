import { mkdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { measure, type Case, type Sample } from "./measure.ts";
import { spreadOf, type Spread } from "./statistics.ts";
import { table } from "./table.ts";

export interface Settings {
  /** Duration of each case in each repeat. */
  readonly seconds: number;
  /** Number of repeats after the warm-up. */
  readonly repeats: number;
}

/**
 * The summary of all repeats of a case. Throughput in 1/s, latencies in ms, CPU time in seconds per
 * 1,000 operations.
 */
export interface Measured {
  readonly name: string;
  readonly clients: number;
  readonly throughput: Spread;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  readonly cpu: number | undefined;
  readonly baseline: string;
  /** Throughput divided by that of the baseline in the same repeat. */
  readonly ratio: Spread;
  readonly samples: readonly Sample[];
}

/** Summarizes the samples of a case and divides them by those of its baseline. */
export function summary(
  { name, baseline, concurrency }: Case,
  own: readonly Sample[],
  floor: readonly Sample[],
): Measured {
  const median = (of: (sample: Sample) => number): number => spreadOf(own.map(of)).median;
  const cpu = own.flatMap((sample) => sample.cpu ?? []);
  return {
    name,
    clients: concurrency,
    throughput: spreadOf(own.map((sample) => sample.throughput)),
    p50: median((sample) => sample.p50),
    p95: median((sample) => sample.p95),
    p99: median((sample) => sample.p99),
    max: Math.max(...own.map((sample) => sample.max)),
    cpu: cpu.length === 0 ? undefined : spreadOf(cpu).median,
    baseline,
    ratio: spreadOf(
      own.map((sample, index) => sample.throughput / (floor[index]?.throughput ?? Number.NaN)),
    ),
    samples: own,
  };
}

/**
 * Measures the cases in turn within each repeat, so that other load on the machine affects all of
 * them.
 */
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

/** Prints the results as a table, with a column for the CPU time if it was measured. */
export function printTable(result: readonly Measured[]): void {
  const hasCpu = result.some(({ cpu }) => cpu !== undefined);
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
        ...[throughput.median, throughput.iqr, p50, p95, p99, max].map(short),
        ...cpuCell(cpu === undefined ? "" : short(cpu)),
        ...(baseline === name ? ["", "", ""] : [baseline, short(ratio.median), short(ratio.iqr)]),
      ]),
    ]),
  );
}

/** Writes a run with its settings and all samples to `results/<name>.json`. */
export async function saveResult(name: string, settings: object, result: unknown): Promise<void> {
  const machine = { node: process.version, cpus: cpus().length, model: cpus()[0]?.model };
  const directory = join(import.meta.dirname, "results");
  await mkdir(directory, { recursive: true });
  await writeFile(
    join(directory, `${name}.json`),
    `${JSON.stringify({ settings, machine, result }, undefined, 2)}\n`,
  );
}
