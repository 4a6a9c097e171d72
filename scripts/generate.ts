/** Writes every generated file, or with --check lists those that are stale and exits with 1. */
import { readFile, writeFile } from "node:fs/promises";
import { chartFiles } from "./generate/chart/chart.ts";
import { charts } from "./generate/chart/charts.ts";
import { customResources } from "./generate/custom-resources.ts";
import { withSections } from "./generate/markdown.ts";
import { operationPaths } from "./generate/operation-paths.ts";
import { pageSections } from "./generate/pages.ts";
import { reasonsPage } from "./generate/reasons-page.ts";
import { thirdPartyNotices } from "./supply/notices.ts";

/** Content by path from the repository root. */
const files = new Map<string, string>([
  ...customResources(),
  ["docs/reasons.md", reasonsPage()],
  ["THIRD_PARTY_NOTICES", thirdPartyNotices(".")],
  ["src/protocol/operation-paths.ts", operationPaths()],
]);
for (const chart of charts) {
  for (const [path, content] of await chartFiles(chart)) files.set(path, content);
}
for (const [path, sections] of pageSections())
  files.set(path, withSections(path, await readFile(path, "utf8"), sections));

const check = process.argv.includes("--check");
const stale: string[] = [];
for (const [path, content] of files) {
  const current = await readFile(path, "utf8").catch(() => undefined);
  if (current === content) continue;
  stale.push(path);
  if (check) continue;
  await writeFile(path, content);
}
if (check && stale.length > 0) {
  console.error(`stale generated files; run npm run generate:\n  ${stale.join("\n  ")}`);
  process.exitCode = 1;
}
