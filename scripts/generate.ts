/**
 * Writes the generated files, or with --check lists the stale ones and exits with 1. Names limit it
 * to some files.
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { chartFiles } from "./generate/chart/chart.ts";
import { charts } from "./generate/chart/charts.ts";
import { grafanaJson } from "./generate/dashboards/grafana.ts";
import { operatorDashboard } from "./generate/dashboards/operator-dashboard.ts";
import { vaultDashboard } from "./generate/dashboards/vault-dashboard.ts";
import { withSections } from "./generate/markdown.ts";
import { pageSections } from "./generate/pages.ts";
import { Document, visit } from "yaml";
import { customResourceDefinitions } from "../src/operator/api/crd.ts";
import { operations } from "../src/protocol/operations.ts";
import { sessionOperations } from "../src/protocol/session-operations.ts";

function entries(definitions: Readonly<Record<string, { readonly path: string }>>): string {
  return Object.entries(definitions)
    .map(([name, { path }]) => `  ${name}: "${path}",`)
    .join("\n");
}

/**
 * Returns src/protocol/operation-paths.ts: names and paths of all operations without their schemas
 * and texts.
 */
function operationPaths(): string {
  return `// Generated from src/protocol/operations/ and session-operations.ts by npm run generate. Do not edit.

/**
 * Path of every operation, relative to the vault's base address. All are POST. Kept apart from the
 * definitions: the operator and the web application load neither schemas nor texts.
 */
export const operationPath = {
${entries(operations)}
} as const;

export type Operation = keyof typeof operationPath;

/** Path of every operation that only the web application has. All are POST. */
export const sessionOperationPath = {
${entries(sessionOperations)}
} as const;

export type SessionOperation = keyof typeof sessionOperationPath;
`;
}

const header = "# Generated from src/operator/api by `npm run generate`. Do not edit.\n";

/** A schema of at most this many characters is on one line. */
const longestOnOneLine = 120;

/** Returns the CRDs, by path from the repository root. */
function customResources(): Map<string, string> {
  return new Map(
    Array.from(customResourceDefinitions(), ([name, definition]) => [
      `deploy/chart/files/crds/${name}`,
      header + yamlOf(definition),
    ]),
  );
}

function yamlOf(definition: object): string {
  const document = new Document(definition, { aliasDuplicateObjects: false });
  visit(document, {
    Collection(_, node) {
      if (JSON.stringify(node).length > longestOnOneLine) return undefined;
      node.flow = true;
      return visit.SKIP;
    },
  });
  return document.toString({ lineWidth: 0, indentSeq: false, flowCollectionPadding: false });
}

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
