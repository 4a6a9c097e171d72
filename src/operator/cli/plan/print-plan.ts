import { relative, sep } from "node:path";
import { formatObject } from "../../../command-line/format-object.ts";
import { formatTable } from "../../../command-line/table.ts";
import { packageVersion } from "../../../lib/package-version.ts";
import { printable } from "../../../lib/printable.ts";
import type { Problem } from "../manifests/manifest.ts";

/**
 * One key of a target or one entry of the vault that would be written, or one variable of its
 * template, as `{{ name }}`.
 */
export interface PlannedKey {
  readonly resource: string;
  readonly namespace: string;
  readonly target: string;
  readonly key: string;
  readonly source: string;
  /** Absent if the vault was not asked, or has no such version. */
  readonly version?: number | undefined;
  /** The gates of the spec that keep newer versions from an existing target. */
  readonly updates?: string | undefined;
}

/** All that a plan prints. */
export interface PlanResult {
  readonly keys: readonly PlannedKey[];
  readonly problems: readonly Problem[];
  /** Texts about references and accesses that were not checked. */
  readonly notChecked: readonly string[];
}

/** The format of `-o`: of `vaultsync` in general, and those for continuous integration. */
export type PlanFormat = "table" | "json" | "yaml" | "github" | "sarif";

function tableOf(keys: readonly PlannedKey[]): string {
  const hasGate = keys.some(({ updates }) => updates !== undefined);
  const header = ["NAMESPACE", "RESOURCE", "TARGET", "KEY", "SOURCE", "VERSION"];
  const rows = keys.map((one) => [
    one.namespace,
    one.resource,
    one.target,
    one.key,
    one.source,
    String(one.version ?? "-"),
    ...(hasGate ? [one.updates ?? "-"] : []),
  ]);
  if (hasGate) header.push("UPDATES");
  return rows.length === 0 ? "" : formatTable(header, rows);
}

function printText({ keys, problems, notChecked }: PlanResult): void {
  process.stdout.write(tableOf(keys));
  const texts = problems.map(({ file, line, message }) => `${file}:${line}: ${message}`);
  for (const text of [...texts, ...notChecked]) process.stderr.write(`${printable(text)}\n`);
}

/** Returns the path of a file inside the working directory from there, with slashes. */
function pathOf(file: string): string {
  const inside = relative(process.cwd(), file);
  return (inside.startsWith("..") ? file : inside).replaceAll(sep, "/");
}

/** Encodes the text of a workflow command of GitHub. */
const encoded = (text: string): string => printable(text).replaceAll("%", "%25");
/** Encodes a property of a workflow command of GitHub. */
const property = (text: string): string =>
  encoded(text).replaceAll(":", "%3A").replaceAll(",", "%2C");

/** Prints the table, and a workflow command for each problem: an annotation of a pull request. */
function printGithub({ keys, problems, notChecked }: PlanResult): void {
  const title = "title=vaultsync plan";
  const commands = [
    ...problems.map(
      ({ file, line, message }) =>
        `::error file=${property(pathOf(file))},line=${line},${title}::${encoded(message)}`,
    ),
    ...notChecked.map((note) => `::warning ${title}::${encoded(note)}`),
  ];
  process.stdout.write(tableOf(keys) + commands.map((command) => `${command}\n`).join(""));
}

/** Prints a log of SARIF 2.1.0. */
function printSarif({ problems, notChecked }: PlanResult): void {
  const results = problems.map(({ file, line, message }) => ({
    ruleId: "plan",
    level: "error",
    message: { text: printable(message) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: encodeURI(pathOf(file)) },
          region: { startLine: line },
        },
      },
    ],
  }));
  const toolExecutionNotifications = notChecked.map((note) => ({
    level: "warning",
    message: { text: printable(note) },
  }));
  const run = {
    tool: { driver: { name: "vaultsync", version: packageVersion(), rules: [{ id: "plan" }] } },
    invocations: [{ executionSuccessful: true, toolExecutionNotifications }],
    results,
  };
  const $schema = "https://json.schemastore.org/sarif-2.1.0.json";
  process.stdout.write(formatObject({ $schema, version: "2.1.0", runs: [run] }, "json"));
}

/** Prints a plan; as a table, the problems go to standard error. */
export function printPlan(result: PlanResult, format: PlanFormat): void {
  if (format === "table") printText(result);
  else if (format === "github") printGithub(result);
  else if (format === "sarif") printSarif(result);
  else process.stdout.write(formatObject(result, format));
}
