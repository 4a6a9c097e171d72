import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { z } from "zod";
import { spreadText } from "./operator/samples.ts";
import type { Spread } from "./statistics.ts";
import { table } from "./table.ts";

const spread = z.object({ median: z.number(), iqr: z.number(), count: z.number() });
const series = z.object({
  scenario: z.string(),
  figure: z.string(),
  subject: z.string(),
  resources: z.number(),
  connections: z.number(),
  values: spread,
});
/** A case of the benchmarks vault and mixed. */
const measured = z.object({
  name: z.string(),
  clients: z.number(),
  throughput: spread,
  p50: spread,
  p99: spread,
  cpu: z.union([spread, z.tuple([])]),
});
const file = z.object({ result: z.array(z.union([series, measured])) });

/** The samples of a figure, with the table that it is in. */
interface Series {
  readonly title: string;
  readonly figure: string;
  readonly values: Spread;
}

function seriesOf(one: z.infer<typeof file>["result"][number]): Series[] {
  if ("values" in one) {
    const { scenario, figure, subject, resources, connections, values } = one;
    const title = `${subject}, ${resources} resources, ${connections} connections`;
    return [{ title, figure: `${scenario} ${figure}`, values }];
  }
  const { name, clients, throughput, p50, p99, cpu } = one;
  const figures = { "1/s": throughput, "p50 ms": p50, "p99 ms": p99, "CPU s/1000": cpu };
  return Object.entries(figures).flatMap(([figure, values]) =>
    "median" in values
      ? [{ title: `clients: ${clients}`, figure: `${name}: ${figure}`, values }]
      : [],
  );
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: "boolean" } },
});
const [before, after] = positionals;
if (options.help === true || before === undefined || after === undefined) {
  process.stdout
    .write(`Print two results of the benchmarks operator, vault or mixed side by side: medians, interquartile ranges, and the second by the first.

npm run bench -- compare BEFORE.json AFTER.json

A row is marked with * if both were repeated and their medians are further apart than their interquartile ranges together.
`);
  process.exit(options.help === true ? 0 : 2);
}

/** Ends the program if the file is not such a result. */
async function read(path: string): Promise<Series[]> {
  try {
    return file.parse(JSON.parse(await readFile(path, "utf8"))).result.flatMap(seriesOf);
  } catch (error) {
    const why =
      error instanceof z.ZodError
        ? "it is not a result of the benchmark operator, vault or mixed"
        : String(error);
    process.stderr.write(`cannot read ${path}: ${why}\n`);
    process.exit(1);
  }
}

const keyOf = ({ title, figure }: Series): string => JSON.stringify([title, figure]);

function rowOf(one: Series, other: Series): string[] {
  const [first, second] = [one.values, other.values];
  const ratio = second.median / first.median;
  const isRepeated = Math.min(first.count, second.count) > 1;
  const differs = isRepeated && Math.abs(second.median - first.median) > first.iqr + second.iqr;
  const text = Number.isFinite(ratio) ? ratio.toFixed(2) : "–";
  return [one.figure, spreadText(first), spreadText(second), text, differs ? "*" : ""];
}

const [first, second] = await Promise.all([read(before), read(after)]);
const others = new Map(second.map((one) => [keyOf(one), one]));
const pairs = first.flatMap((one) => {
  const other = others.get(keyOf(one));
  return other === undefined ? [] : [[one, other] as const];
});
const groups = [...Map.groupBy(pairs, ([one]) => one.title)];
const tables = groups.map(([title, own]) =>
  table([[title, "before", "after", "ratio", ""], ...own.map((pair) => rowOf(...pair))]),
);
process.stdout.write(
  tables.length > 0 ? tables.join("\n") : "The two results have no figure in common.\n",
);
