import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify, parseArgs } from "node:util";
import { terminalProgress } from "../../test/lab/control-plane/progress.ts";
import { checkOut } from "./earlier-checkout.ts";
import { measureSubjects } from "./operator/measure-subjects.ts";
import { Samples } from "./operator/samples.ts";
import { vaultsync } from "./operator/vaultsync-subject.ts";
import { saveResult } from "./result-file.ts";
import { spreadOf } from "./statistics.ts";
import { table } from "./table.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");

/** Builds the programs of a checkout, as the image contains them, and returns the path of `main.js`. */
async function build(checkout = root): Promise<string> {
  await run("npm", ["run", "build", "--", "program"], { cwd: checkout });
  return join(checkout, "dist/main.js");
}

/** The revision that a run compares with. Each release replaces it by its own. */
const BASE = "764843f8";

/** The highest ratio of a figure to the figure of the base. */
const LIMITS: readonly (readonly [scenario: string, figure: string, limit: number])[] = [
  ["b1", "time until all are in sync, s", 1.15],
  ["b1", "CPU s per 1,000 resources", 1.1],
  ["b1", "CPU s of the control plane per 1,000 writes", 1.15],
  ["b1", "target writes per resource", 1],
  ["b1", "status writes per resource", 1],
  ["b1", "reads of Secrets per resource", 1],
  ["b1", "reads of values per resource", 1],
  ["b1", "KiB read per resource", 1.1],
  ["b1", "KiB written per resource", 1.1],
  ["b3", "API writes per interval", 1],
  ["b5", "resident memory, MiB", 1.1],
  ["b5", "peak since the start, MiB", 1.15],
  ["b5", "live heap, MiB", 1.1],
];
const PLAIN = "share of the same writes";
const WITH_TOKEN = "share of the same writes with its token";

const { values } = parseArgs({
  options: {
    base: { type: "string", default: BASE },
    resources: { type: "string", default: "1000" },
    connections: { type: "string", default: "10" },
    repeats: { type: "string", default: "4" },
    output: { type: "string", default: "regression" },
    help: { type: "boolean" },
  },
});
if (values.help === true) {
  process.stdout
    .write(`Measure the operator next to an earlier revision of it, and fail if a figure became worse.

npm run bench -- regression [--base REVISION] [--resources 1000] [--connections 10] [--repeats 4] [--output regression]

  --base         revision of this repository to compare with
  --resources    number of resources, and --connections: number of connections that share them
  --repeats      number of repeats; within each, the two programs are measured in the other order
  --output       name of the result in scripts/bench/results
`);
  process.exit(0);
}

terminalProgress().note(`checking out and building ${values.base}`);
await using base = await checkOut(values.base);
const common = { mode: "list", profiles: undefined, asInPod: false, heap: true } as const;
const now = vaultsync({ ...common, program: await build(), isPresent: true });
const before = vaultsync({ ...common, program: await build(base.directory) });
const samples = new Samples();
await measureSubjects(
  {
    subjects: [now, before],
    scenarios: new Set(["b0", "b1", "b3", "b5"]),
    repeats: Number(values.repeats),
    warmUp: true,
    settings: {
      seconds: 15,
      vault: "server",
      latencyMs: 20,
      outageSeconds: 0,
      rounds: 0,
      unrelated: 0,
    },
    samples,
    onProgress: () => saveResult(values.output, values, samples.series),
  },
  Number(values.resources),
  Number(values.connections),
);

/** Returns the median of a figure; 0 if it was not measured. */
function median(subject: string, scenario: string, figure: string): number {
  const of = samples.series.find(
    (one) => one.subject === subject && one.scenario === scenario && one.figure === figure,
  );
  return of === undefined ? 0 : spreadOf(of.values).median;
}

const medians = (scenario: string, figure: string) => ({
  ours: median(now.label, scenario, figure),
  theirs: median(before.label, scenario, figure),
});
const number = (value: number): string => value.toFixed(value < 10 ? 2 : 1);

const rows = LIMITS.map(([scenario, figure, limit]) => {
  const { ours, theirs } = medians(scenario, figure);
  const ratio = theirs === 0 ? "–" : (ours / theirs).toFixed(2);
  const isWorse = ours > theirs * limit;
  const mark = isWorse ? "!" : "";
  return {
    isWorse,
    cells: [figure, number(ours), number(theirs), ratio, limit.toFixed(2), mark],
  };
});
const share = medians("b1", PLAIN);
process.stdout.write(
  table([["", "now", values.base, "ratio", "limit", ""], ...rows.map(({ cells }) => cells)]),
);
process.stdout.write(
  `\nA plain client made the same writes in ${number(share.ours)} of the time of a cold start, ${number(median(now.label, "b1", WITH_TOKEN))} with the operator's token; ${number(share.theirs)} at ${values.base}.\n`,
);
if (rows.some(({ isWorse }) => isWorse)) {
  process.stderr.write("The figures with ! are worse than their limit.\n");
  process.exitCode = 1;
}
