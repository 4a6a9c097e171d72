import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { z } from "zod";
import { spreadText } from "./operator/series-tables.ts";
import { spreadOf } from "./statistics.ts";
import { table } from "./table.ts";

const series = z.object({
  scenario: z.string(),
  figure: z.string(),
  subject: z.string(),
  resources: z.number(),
  connections: z.number(),
  values: z.array(z.number()),
});
type Series = z.infer<typeof series>;
const file = z.object({ result: z.array(series) });

const { values: options, positionals } = parseArgs({ allowPositionals: true, options: { help: { type: "boolean" } } });
const [before, after] = positionals;
if (options.help === true || before === undefined || after === undefined) {
  process.stdout
    .write(`Print two results of bench:operator side by side: medians, interquartile ranges, and the second by the first.

npm run bench:compare -- BEFORE.json AFTER.json

A row is marked with * if both were repeated and their medians are further apart than their interquartile ranges together.
`);
  process.exit(options.help === true ? 0 : 2);
}

/** Ends the program if the file is not a result of bench:operator. */
async function read(path: string): Promise<Series[]> {
  try {
    return file.parse(JSON.parse(await readFile(path, "utf8"))).result;
  } catch (error) {
    const why = error instanceof z.ZodError ? "it is not a result of bench:operator" : String(error);
    process.stderr.write(`cannot read ${path}: ${why}\n`);
    process.exit(1);
  }
}

const keyOf = ({ scenario, subject, resources, connections, figure }: Series): string =>
  JSON.stringify([scenario, subject, resources, connections, figure]);

function rowOf(one: Series, other: Series): string[] {
  const [first, second] = [spreadOf(one.values), spreadOf(other.values)];
  const ratio = second.median / first.median;
  const isRepeated = Math.min(one.values.length, other.values.length) > 1;
  const differs = isRepeated && Math.abs(second.median - first.median) > first.iqr + second.iqr;
  const text = Number.isFinite(ratio) ? ratio.toFixed(2) : "–";
  return [`${one.scenario} ${one.figure}`, spreadText(one.values), spreadText(other.values), text, differs ? "*" : ""];
}

const [first, second] = await Promise.all([read(before), read(after)]);
const others = new Map(second.map((one) => [keyOf(one), one]));
const pairs = first.flatMap((one) => {
  const other = others.get(keyOf(one));
  return other === undefined ? [] : [[one, other] as const];
});
const titleOf = ({ subject, resources, connections }: Series): string =>
  `${subject}, ${resources} resources, ${connections} connections`;
const groups = [...Map.groupBy(pairs, ([one]) => titleOf(one))];
const tables = groups.map(([title, own]) =>
  table([[title, "before", "after", "ratio", ""], ...own.map((pair) => rowOf(...pair))]),
);
process.stdout.write(tables.length > 0 ? tables.join("\n") : "The two results have no figure in common.\n");
