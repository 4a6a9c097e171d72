/** Writes every generated file, or with --check says which of them differ and exits with 1. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { stringify } from "yaml";
import { customResourceDefinitions } from "../src/operator/api/crd.ts";
import { reasons } from "../src/operator/api/reasons.ts";

const check = process.argv.includes("--check");
const header = "# Generated from src/api by `npm run generate`. Do not edit.\n";
const files = new Map<string, string>();
for (const [name, definition] of customResourceDefinitions()) {
  files.set(`crds/${name}`, header + stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false }));
}
// The kustomize base may only read files below itself, so it gets all definitions in one file of its own.
files.set("deploy/base/crds.yaml", [...files.values()].join("---\n"));

files.set("docs/reasons.md", reasonsPage());

for (const path of files.keys()) await mkdir(dirname(path), { recursive: true });
const stale: string[] = [];
for (const [path, content] of files) {
  const current = await readFile(path, "utf8").catch(() => undefined);
  if (current === content) continue;
  if (check) stale.push(path);
  else await writeFile(path, content);
}
if (stale.length > 0) {
  console.error(`These generated files differ from their source; run npm run generate:\n  ${stale.join("\n  ")}`);
  process.exitCode = 1;
}

/** Every reason a condition can have, with what a person does about it. */
function reasonsPage(): string {
  const rows = Object.entries(reasons).map(
    ([reason, { remedy, stalled }]) => `| \`${reason}\` | ${stalled ? "yes" : ""} | ${remedy.replaceAll("<", "&lt;")} |`,
  );
  return `<!-- Generated from src/operator/api/reasons.ts by npm run generate. Do not edit. -->
# Reasons

Every condition of a resource has one of these reasons; the condition's message says what it is about. Where "needs a person" says yes,
the resource also has the condition \`Stalled\`: nothing changes until somebody does.

| Reason | Needs a person | What to do |
|---|---|---|
${rows.join("\n")}
`;
}
