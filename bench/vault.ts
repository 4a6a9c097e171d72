import { mkdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { storeKinds } from "../test/support/vault-place.ts";
import { measure, type Sample } from "./measure.ts";
import { spreadOf } from "./statistics.ts";
import { table } from "./table.ts";
import { openVaultCases } from "./vault-cases.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite" },
    clients: { type: "string", default: "16" },
    seconds: { type: "string", default: "2" },
    repeats: { type: "string", default: "5" },
    quick: { type: "boolean", default: false },
    help: { type: "boolean" },
  },
});
const store = storeKinds.find((kind) => kind === values.store);
if (values.help === true || store === undefined) {
  process.stdout.write(`Throughput and latency of a vault server in a process of its own.

npm run bench:vault -- [--store sqlite|postgres] [--clients 16] [--seconds 2] [--repeats 5] [--quick]

  --seconds  of each case in each repeat
  --repeats  after one that warms up and does not count; each repeat goes through all cases
  --quick    0.3 s a case, two repeats, no list of 100,000: only to see that it runs; writes no result
`);
  process.exit(values.help === true ? 0 : 2);
}
const { quick } = values;
const settings = {
  store,
  clients: Number(values.clients),
  seconds: quick ? 0.3 : Number(values.seconds),
  repeats: quick ? 2 : Number(values.repeats),
};

await using vault = await openVaultCases({ ...settings, longList: !quick });
const samples = new Map<string, Sample[]>(vault.cases.map(({ name }) => [name, []]));
for (let repeat = 0; repeat <= settings.repeats; repeat += 1) {
  for (const each of vault.cases) {
    const sample = await measure(each, settings.seconds * 1000);
    if (repeat > 0) samples.get(each.name)?.push(sample);
  }
  process.stderr.write(repeat === 0 ? "warmed up\n" : `repeat ${repeat} of ${settings.repeats}\n`);
}

const result = vault.cases.map(({ name, baseline, atOnce }) => {
  const own = samples.get(name) ?? [];
  const floor = samples.get(baseline) ?? [];
  const median = (of: (sample: Sample) => number) => spreadOf(own.map(of)).median;
  return {
    name,
    clients: atOnce,
    throughput: spreadOf(own.map((sample) => sample.throughput)),
    p50: median((sample) => sample.p50),
    p95: median((sample) => sample.p95),
    p99: median((sample) => sample.p99),
    max: Math.max(...own.map((sample) => sample.max)),
    baseline,
    ratio: spreadOf(own.map((sample, index) => sample.throughput / (floor[index]?.throughput ?? Number.NaN))),
    samples: own,
  };
});
const short = (value: number): string => (value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toFixed(3));
process.stdout.write(
  table([
    ["", "clients", "1/s", "±IQR", "p50 ms", "p95 ms", "p99 ms", "max ms", "of", "ratio", "±IQR"],
    ...result.map(({ name, clients, throughput, p50, p95, p99, max, baseline, ratio }) => [
      name,
      String(clients),
      ...[throughput.median, throughput.iqr, p50, p95, p99, max].map(short),
      ...(baseline === name ? ["", "", ""] : [baseline, short(ratio.median), short(ratio.iqr)]),
    ]),
  ]),
);
if (!quick) {
  const machine = { node: process.version, cpus: cpus().length, model: cpus()[0]?.model };
  const directory = join(import.meta.dirname, "results");
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, `vault-${store}.json`), `${JSON.stringify({ settings, machine, result }, undefined, 2)}\n`);
}
