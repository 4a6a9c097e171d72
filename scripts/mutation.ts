/**
 * Mutation tests of the operator: changes the code and reports the changes that no test notices.
 * Exits with 1 when the tests notice less than 85 % of the changes of a folder.
 */
import { Stryker } from "@stryker-mutator/core";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { sample, type SourceFile, percentOf, scoreOf } from "./mutation/mutants.ts";
import { seededRandom } from "../test/lab/seeded-random.ts";

const USAGE = `Usage: npm run mutation -- [--sample PERCENT] [--seed S] [PATH...]

  PATH              folder or file below src/operator; by default six folders
  --sample PERCENT  mutate random ranges with this share of the lines; by default all lines: that takes hours
  --seed S          choose the ranges with this seed; by default 1
  --help            show this help
`;

const FOLDERS = ["sync", "controllers", "runtime", "vault-client", "restart", "shards"];
const LOWEST_PERCENT = 85;

function filesOf(path: string): SourceFile[] {
  const names = statSync(path).isFile()
    ? [path]
    : readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name));
  return names
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .toSorted()
    .map((name) => ({
      path: name,
      lines: readFileSync(name, "utf8").trimEnd().split("\n").length,
    }));
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    help: { type: "boolean", default: false },
  },
});

async function main(): Promise<number> {
  const paths = (positionals.length > 0 ? positionals : FOLDERS).map((path) =>
    join("src/operator", path),
  );
  const random = seededRandom(Number(values.seed));
  const mutate = paths.flatMap((path) => sample(filesOf(path), Number(values.sample), random));
  const configFile = "scripts/mutation/stryker.config.json";
  const mutants = await new Stryker({ configFile, mutate }).runMutationTest();
  const scores = paths.map((path) => ({ path, score: scoreOf(mutants, resolve(path)) }));
  for (const { path, score } of scores) {
    const percent = percentOf(score).toFixed(1);
    process.stdout.write(`${path}: ${percent} % of ${score.mutants} mutants\n`);
  }
  return scores.some(({ score }) => percentOf(score) < LOWEST_PERCENT) ? 1 : 0;
}

if (values.help) process.stdout.write(USAGE);
else process.exitCode = await main();
