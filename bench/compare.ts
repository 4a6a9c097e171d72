import { readFile } from "node:fs/promises";
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
const file = z.object({ result: z.array(series) });

const [before, after] = process.argv.slice(2);
if (before === undefined || after === undefined || before === "--help") {
  process.stdout
    .write(`Print two results of bench:operator side by side: medians, interquartile ranges, and the second by the first.

npm run bench:compare -- BEFORE.json AFTER.json
`);
  process.exit(before === "--help" ? 0 : 2);
}

const read = async (path: string): Promise<z.infer<typeof series>[]> =>
  file.parse(JSON.parse(await readFile(path, "utf8"))).result;
const [first, second] = await Promise.all([read(before), read(after)]);
const keyOf = ({ scenario, subject, resources, connections, figure }: z.infer<typeof series>): string =>
  `${scenario} ${subject}, ${resources} resources, ${connections} connections: ${figure}`;
const values = new Map(second.map((one) => [keyOf(one), one.values]));
const rows = first.flatMap((one) => {
  const other = values.get(keyOf(one));
  if (other === undefined) return [];
  const ratio = spreadOf(other).median / spreadOf(one.values).median;
  return [[keyOf(one), spreadText(one.values), spreadText(other), Number.isFinite(ratio) ? ratio.toFixed(2) : "–"]];
});
process.stdout.write(table([["", "before", "after", "after / before"], ...rows]));
