import { relative, sep } from "node:path";
import { formatTable, formatObject } from "../../../command-line/format.ts";
import { packageVersion } from "../../../lib/package-version.ts";
import { printable } from "../../../lib/printable.ts";
import type { Problem } from "../manifests/manifest.ts";
import type { RestartFacts } from "../usage/usage.ts";

/**
 * Effect of a manifest on a key of a target: `version` and `content` are another version, and the same one
 * used in another way; `unknown`: the vault was not asked, or the status does not show the key.
 */
type KeyChange = "new" | "version" | "content" | "leaving" | "none" | "unknown";

/** A workload that uses a target whose content changes. */
export interface PlannedRestart extends RestartFacts {
  readonly namespace: string;
  readonly resource: string;
  readonly target: string;
  readonly workload: string;
}

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
  /**
   * Absent if the vault was not asked, or has no such version. Compared with a cluster, the version
   * in the target after the manifest is applied.
   */
  readonly version?: number | undefined;
  /** Version that the target has now. */
  readonly served?: number | undefined;
  /** Effect of the manifest; absent if it is not compared with a cluster. */
  readonly change?: KeyChange | undefined;
  /** Address of the user who wrote the version that the target gets. */
  readonly author?: string | undefined;
  /** Latest version, if the target waits with an earlier one. */
  readonly latest?: number | undefined;
  /** Reason for which the target does not get the latest version, or nothing. */
  readonly waitsFor?: string | undefined;
  /** The gates of the spec that keep newer versions from an existing target. */
  readonly updates?: string | undefined;
}

/** All that a plan prints. */
export interface PlanResult {
  readonly keys: readonly PlannedKey[];
  /** The workloads that use changed targets; absent if nothing was compared with a cluster. */
  readonly restarts?: readonly PlannedRestart[];
  readonly problems: readonly Problem[];
  /** Texts about references and accesses that were not checked. */
  readonly notChecked: readonly string[];
}

/** The format of `-o`: of `vaultsync` in general, and those for continuous integration. */
export type PlanFormat = "table" | "json" | "yaml" | "github" | "sarif";

/** Returns the versions before and after: `3 → 5`. */
function versionsText({ served, version, latest, change }: PlannedKey): string {
  const [before, after] = [`${served ?? "?"}`, `${version ?? "-"}`];
  const more = latest === undefined ? "" : ` (latest ${latest})`;
  switch (change) {
    case "new":
      return `${after} (new)`;
    case "leaving":
      return `${before} (leaving)`;
    case "content":
      return `${after} (changed)${more}`;
    case "version":
      return `${before} → ${after}${more}`;
    case "unknown":
      return `${before} → ${version ?? "?"}`;
    default:
      return `${after}${more}`;
  }
}

/** Columns that a table has only if a row has a text for them. */
const optionalColumns = [
  ["BY", ({ author }: PlannedKey) => author],
  ["WAITS FOR", ({ waitsFor }: PlannedKey) => waitsFor],
  ["UPDATES", ({ updates }: PlannedKey) => updates],
] as const;

function tableOf(keys: readonly PlannedKey[]): string {
  const shown = optionalColumns.filter(([, textOf]) =>
    keys.some((one) => textOf(one) !== undefined),
  );
  const more = shown.map(([name]) => name);
  const header = ["NAMESPACE", "RESOURCE", "TARGET", "KEY", "SOURCE", "VERSION", ...more];
  const rows = keys.map((one) => [
    // A cluster-scoped resource that selects no known namespace.
    one.namespace || "-",
    one.resource,
    one.target,
    one.key,
    one.source,
    versionsText(one),
    ...shown.map(([, textOf]) => textOf(one) ?? "-"),
  ]);
  return rows.length === 0 ? "" : formatTable(header, rows);
}

function restartText({ restart, restartsAt }: PlannedRestart): string {
  if (restart === "none") return "not restarted";
  return restartsAt === undefined ? "restarted" : `restarted in the window at ${restartsAt}`;
}

function restartTable(restarts: readonly PlannedRestart[]): string {
  const header = ["NAMESPACE", "TARGET", "WORKLOAD", "RESTART"];
  const rows = restarts.map((one) => [one.namespace, one.target, one.workload, restartText(one)]);
  return rows.length === 0 ? "" : `\n${formatTable(header, rows)}`;
}

/** Returns the tables of keys and of restarts, for a terminal. */
export const tablesOf = ({ keys, restarts = [] }: Pick<PlanResult, "keys" | "restarts">): string =>
  tableOf(keys) + restartTable(restarts);

function printText(result: PlanResult): void {
  process.stdout.write(tablesOf(result));
  const { problems, notChecked } = result;
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

/**
 * Returns a text without workflow commands of GitHub: `::` at the start of a line, and `##[` anywhere
 * in it.
 */
const withoutCommands = (text: string): string =>
  text.replaceAll(/^(\s*:):/gmu, "$1 :").replaceAll("##[", "# #[");

/** Prints the table, and a workflow command for each problem: an annotation of a pull request. */
function printGithub(result: PlanResult): void {
  const { problems, notChecked } = result;
  const title = "title=vaultsync plan";
  const commands = [
    ...problems.map(
      ({ file, line, message }) =>
        `::error file=${property(pathOf(file))},line=${line},${title}::${encoded(message)}`,
    ),
    ...notChecked.map((note) => `::warning ${title}::${encoded(note)}`),
  ];
  const tables = withoutCommands(tablesOf(result));
  process.stdout.write(tables + commands.map((command) => `${command}\n`).join(""));
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
