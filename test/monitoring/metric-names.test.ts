import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chartsOf, readDashboard } from "../../scripts/pictures/dashboards/dashboard.ts";
import { isKnownValue, knownMetrics, scrapeLabels } from "../lab/monitoring/known-metrics.ts";
import { namedMetrics } from "../lab/monitoring/named-metrics.ts";
import { alertsOf, parts, type Part } from "../lab/monitoring/rules.ts";

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
