/**
 * Writes the generated files, or with --check lists the stale ones and exits with 1. Names limit it
 * to some files.
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { chartFiles } from "./generate/chart/chart.ts";
import { charts } from "./generate/chart/charts.ts";
import { customResources } from "./generate/custom-resources.ts";
import { grafanaJson } from "./generate/dashboards/grafana.ts";
import { operatorDashboard } from "./generate/dashboards/operator-dashboard.ts";
import { vaultDashboard } from "./generate/dashboards/vault-dashboard.ts";
import { withSections } from "./generate/markdown.ts";
import { operationPaths } from "./generate/operation-paths.ts";
import { pageSections } from "./generate/pages.ts";

type Files = [path: string, content: string][];

async function docs(): Promise<Files> {
  const pages = [...pageSections()].map(async ([path, sections]): Promise<Files[number]> => [
    path,
    withSections(path, await readFile(path, "utf8"), sections),
  ]);
  return Promise.all(pages);
}

/** Each returns the content of files by path from the repository root. */
const generators: Readonly<Record<string, () => Files | Promise<Files>>> = {
  crds: () => [...customResources()],
  charts: async () => (await Promise.all(charts.map(chartFiles))).flatMap((files) => [...files]),
  dashboards: () => [
    ["deploy/chart/files/monitoring/dashboard.json", grafanaJson(operatorDashboard)],
    ["deploy/vault-chart/files/monitoring/dashboard.json", grafanaJson(vaultDashboard)],
  ],
  docs,
  api: () => [["src/protocol/operation-paths.ts", operationPaths()]],
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { check: { type: "boolean" } },
});
const names = positionals.length > 0 ? positionals : Object.keys(generators);
const stale: string[] = [];
for (const name of names) {
  const generator = generators[name];
  if (generator === undefined)
    throw new Error(`${name}: expected one of ${Object.keys(generators).join(", ")}`);
  for (const [path, content] of await generator()) {
    const current = await readFile(path, "utf8").catch(() => undefined);
    if (current === content) continue;
    stale.push(path);
    if (values.check !== true) await writeFile(path, content);
  }
}
if (values.check === true && stale.length > 0) {
  console.error(`stale generated files; run npm run generate:\n  ${stale.join("\n  ")}`);
  process.exitCode = 1;
}
