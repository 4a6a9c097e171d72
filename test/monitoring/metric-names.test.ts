import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chartsOf, readDashboard } from "../../scripts/pictures/dashboards/dashboard.ts";
import { namedMetrics, alertsOf, parts, type Part, NO_SAMPLES } from "../lab/monitoring/rules.ts";
import { conditionTypes } from "../../src/operator/api/status.ts";
import { reasons } from "../../src/operator/api/reasons.ts";
import type { ReconcileOutcome } from "../../src/operator/runtime/controller.ts";
import type { RequestOutcome } from "../../src/operator/vault-client/observer.ts";
import { operationPath, sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import { apiServerMetrics, operatorMetrics } from "../../src/telemetry/operator-metrics.ts";
import { MetricsRegistry, type MetricDefinition } from "../../src/telemetry/metrics-registry.ts";
import { VaultMetrics } from "../../src/vault/server/metrics.ts";

function processMetrics(): Promise<string> {
  const registry = new MetricsRegistry();
  registry.addProcessMetrics();
  return registry.text();
}

function definitionsOf(part: Part): readonly MetricDefinition[] {
  if (part === "vault") return new VaultMetrics().registry.definitions;
  const registry = new MetricsRegistry();
  operatorMetrics(registry, () => NO_SAMPLES);
  apiServerMetrics(registry);
  return registry.definitions;
}

const suffixes = { counter: [""], gauge: [""], histogram: ["_bucket", "_sum", "_count"] } as const;

/**
 * Returns the labels of every series that the registry of the operator or the vault server can
 * have, by its name.
 */
async function knownMetrics(part: Part): Promise<ReadonlyMap<string, readonly string[]>> {
  const known = new Map<string, readonly string[]>();
  for (const { name, type, labels } of definitionsOf(part)) {
    for (const suffix of suffixes[type])
      known.set(name + suffix, suffix === "_bucket" ? [...labels, "le"] : labels);
  }
  for (const [, name = ""] of (await processMetrics()).matchAll(/^([a-z0-9_]+)(?:\{| )/gmu))
    known.set(name, ["version", "le"]);
  return known;
}

/** Labels that Prometheus adds to each series that it scrapes. */
const scrapeLabels: readonly string[] = ["cluster", "namespace", "pod", "instance"];

const reconcileOutcomes = {
  done: true,
  not_ready: true,
  retry: true,
  error: true,
  aborted: true,
} satisfies Record<ReconcileOutcome, true>;
const requestOutcomes = {
  ok: true,
  unchanged: true,
  aborted: true,
  transient: true,
  auth: true,
  "rate-limited": true,
  permanent: true,
  "unexpected-response": true,
  refused: true,
} satisfies Record<RequestOutcome, true>;
const restartOutcomes = { rolled_out: true, failed: true, timed_out: true };
const outcomes: Readonly<Record<string, object>> = {
  vaultsync_reconciles_total: reconcileOutcomes,
  vaultsync_client_requests_total: requestOutcomes,
  vaultsync_restarts_total: restartOutcomes,
};
const values: Readonly<Record<string, readonly string[]>> = {
  reason: Object.keys(reasons),
  condition: [...conditionTypes.filter((type) => type !== "Ready"), "AwaitingApproval"],
  ready: ["true", "false", "unknown"],
  state: ["ready", "not_ready", "waiting", "unknown"],
  operation: [...Object.keys(operationPath), ...Object.keys(sessionOperationPath), "none"],
  result: ["hit", "miss"],
  volume: ["data", "audit_log"],
  method: ["GET", "POST", "PUT", "PATCH", "DELETE", "WATCH"],
};

/**
 * Reports whether a label of a metric can have a value. `..` stands for two digits. Labels without
 * a closed set have any.
 */
function isKnownValue(metric: string, label: string, value: string): boolean {
  if (value === "") return true;
  if (label === "status") return /^([1-5](\d\d|\.\.)|none)$/u.test(value);
  if (label === "outcome") return Object.hasOwn(outcomes[metric] ?? {}, value);
  return values[label]?.includes(value) ?? scrapeLabels.includes(label);
}

const docs = [
  "docs/monitoring.md",
  "docs/operator.md",
  "docs/vault-server.md",
  "docs/troubleshooting.md",
];
const textOf = (path: string): string =>
  readFileSync(join(import.meta.dirname, "../..", path), "utf8");

/** Returns what a text names that no registry of these parts has. */
async function unknownIn(text: string, from: readonly Part[]): Promise<string[]> {
  const known = new Map<string, readonly string[]>();
  for (const part of from)
    for (const [name, labels] of await knownMetrics(part)) known.set(name, labels);
  const { names, matchers, grouping } = namedMetrics(text);
  const labels = new Set([...scrapeLabels, ...[...names].flatMap((name) => known.get(name) ?? [])]);
  return [
    // A page may name a histogram itself.
    ...[...names].filter((name) => !known.has(name) && !known.has(`${name}_bucket`)),
    ...matchers.flatMap(({ metric, label, value }) => {
      const isLabel = scrapeLabels.includes(label) || known.get(metric)?.includes(label) === true;
      return isLabel && isKnownValue(metric, label, value)
        ? []
        : [`${metric}{${label}="${value}"}`];
    }),
    ...[...grouping].filter((label) => !labels.has(label)).map((label) => `by (${label})`),
  ];
}

test("an unknown metric, label, value and grouping are found", async () => {
  const text = [
    "rate(vaultsync_leaders[5m])",
    'vaultsync_resources{type="a", ready="false", reason!="Gone"}',
    'sum by (kind, zone) (vaultsync_reconciles_total{outcome=~"retry|failed"})',
    "process_cpu_seconds_total",
  ].join("\n");
  expect(await unknownIn(text, ["operator"])).toEqual([
    "vaultsync_leaders",
    'vaultsync_resources{type="a"}',
    'vaultsync_resources{reason="Gone"}',
    'vaultsync_reconciles_total{outcome="failed"}',
    "by (zone)",
  ]);
});

describe.each(parts)("the %s", (part) => {
  test("has every metric, label and value of its alerts", async () => {
    for (const { alert, expr } of alertsOf(part)) {
      expect(namedMetrics(expr).names.size).toBeGreaterThan(0);
      expect(await unknownIn(expr, [part]), alert).toEqual([]);
    }
  });
});

test.each(parts)(
  "the dashboard of the %s names only metrics, labels and values that exist",
  async (part) => {
    for (const { title, targets } of chartsOf(readDashboard(part))) {
      expect(await unknownIn(targets.map(({ expr }) => expr).join("\n"), [part]), title).toEqual(
        [],
      );
      const labels = [
        ...targets
          .map(({ legendFormat }) => legendFormat)
          .join("")
          .matchAll(/\{\{(\w+)\}\}/gu),
      ];
      const query = targets.map(({ expr }) => expr).join("\n");
      for (const [, label = ""] of labels)
        expect([title, label === "pod" || query.includes(label)]).toEqual([title, true]);
    }
  },
);

test.each(docs)("%s names only metrics, labels and values that exist", async (path) => {
  const text = textOf(path);
  expect(await unknownIn(text, parts)).toEqual([]);
});
