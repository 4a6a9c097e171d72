import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { goTool } from "../tools/go-tool.ts";

/** Samples of an operator that serves nothing. */
export const NO_SAMPLES = {
  connections: [],
  queues: [],
  resources: [],
  conditions: [],
  shards: { configured: 1, led: 0 },
  namespaces: new Map(),
};

/** The two parts of deploy/monitoring. */
export type Part = "operator" | "vault";
export const parts: readonly Part[] = ["operator", "vault"];

const charts = { operator: "chart", vault: "vault-chart" } as const;

/** Returns the path of a file of a part. */
export const monitoringFile = (part: Part, name: string): string =>
  join(import.meta.dirname, "../../../deploy", charts[part], "files/monitoring", name);

const alert = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string(),
  labels: z.strictObject({ severity: z.enum(["info", "warning", "critical"]) }),
  annotations: z.strictObject({
    summary: z.string(),
    description: z.string(),
    runbook_url: z.string(),
  }),
});
const prometheusRule = z.object({
  spec: z.strictObject({
    groups: z.array(z.strictObject({ name: z.string(), rules: z.array(alert) })),
  }),
});

/** Returns the rule file of Prometheus that a PrometheusRule contains. */
export function rulesOf(part: Part): z.output<typeof prometheusRule>["spec"] {
  return prometheusRule.parse(parse(readFileSync(monitoringFile(part, "rules.yaml"), "utf8"))).spec;
}

export const alertsOf = (part: Part): z.output<typeof alert>[] =>
  rulesOf(part).groups.flatMap(({ rules }) => rules);

const run = promisify(execFile);

/**
 * Runs promtool in a directory with the rule file of a part as `rules.yaml`, and with these files.
 * Returns what it printed.
 * @param input standard input
 * @throws Error with its output when it fails
 */
export async function promtool(
  part: Part,
  args: readonly string[],
  files: Readonly<Record<string, string>> = {},
  input = "",
): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-promtool-"));
  try {
    const all = { "rules.yaml": stringify(rulesOf(part)), ...files };
    for (const [name, text] of Object.entries(all)) await writeFile(join(directory, name), text);
    const running = run(await goTool("promtool"), args, { cwd: directory });
    running.child.stdin?.end(input);
    const { stdout, stderr } = await running;
    return stdout + stderr;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Metrics, labels and values that a text with PromQL names. */
export interface NamedMetrics {
  readonly names: ReadonlySet<string>;
  /** Matchers of labels by metric: `=~` and `!~` as each of their alternatives. */
  readonly matchers: readonly {
    readonly metric: string;
    readonly label: string;
    readonly value: string;
  }[];
  /** Labels in `by`, `without` and `on`. */
  readonly grouping: ReadonlySet<string>;
}

const METRIC = /\b((?:vaultsync|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/gu;
const MATCHER = /([a-z_]+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/gu;
const GROUPING = /\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/gu;

/**
 * Returns the metrics, labels and values of labels in a text. Values with a variable of a dashboard
 * are omitted.
 */
export function namedMetrics(text: string): NamedMetrics {
  const found = [...text.matchAll(METRIC)].map(([, metric = "", matchers = ""]) => ({
    metric,
    matchers,
  }));
  return {
    names: new Set(found.map(({ metric }) => metric)),
    matchers: found.flatMap(({ metric, matchers }) =>
      [...matchers.matchAll(MATCHER)].flatMap(([, label = "", value = ""]) =>
        value.includes("$")
          ? [{ metric, label, value: "" }]
          : value.split("|").map((each) => ({ metric, label, value: each })),
      ),
    ),
    grouping: new Set(
      [...text.matchAll(GROUPING)]
        .flatMap(([, labels = ""]) => labels.split(",").map((label) => label.trim()))
        .filter(Boolean),
    ),
  };
}
