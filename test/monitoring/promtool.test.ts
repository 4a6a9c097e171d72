import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { chartsOf, queryOf, readDashboard } from "../../scripts/pictures/dashboards/dashboard.ts";
import { promtool, alertsOf, type Part, parts } from "../lab/monitoring/rules.ts";
import { MetricsRegistry } from "../../src/telemetry/metrics-registry.ts";
import { apiServerMetrics, operatorMetrics } from "../../src/telemetry/operator-metrics.ts";
import { VaultMetrics } from "../../src/vault/server/metrics.ts";

/** Returns the metrics of a program that has just started. */
function metricsOf(part: Part): Promise<string> {
  const registry = part === "vault" ? new VaultMetrics().registry : new MetricsRegistry();
  if (part === "operator") {
    const none = { connections: [], queues: [], resources: [], conditions: [] };
    const shards = { configured: 1, led: 0 };
    operatorMetrics(registry, () => ({ ...none, shards, namespaces: new Map() }));
    apiServerMetrics(registry);
  }
  registry.addProcessMetrics();
  return registry.text();
}

test.each(parts)("promtool check metrics accepts the metrics of the %s", async (part) => {
  expect(await promtool(part, ["check", "metrics"], {}, await metricsOf(part))).toBe("");
});

describe.each(parts)("alerts of the %s", (part) => {
  test("promtool check rules accepts them", async () => {
    const output = await promtool(part, [
      "check",
      "rules",
      "--lint=all",
      "--lint-fatal",
      "rules.yaml",
    ]);
    expect(output).toContain(`SUCCESS: ${alertsOf(part).length} rules found`);
  });

  test("promtool parses every query of the dashboard", async () => {
    const rules = chartsOf(readDashboard(part)).flatMap(({ id, targets }) =>
      targets.map(({ refId, expr }) => ({
        record: `panel:${id}:${refId}`,
        expr: queryOf(expr, "5m"),
      })),
    );
    const output = await promtool(part, ["check", "rules", "queries.yaml"], {
      "queries.yaml": stringify({ groups: [{ name: "queries", rules }] }),
    });
    expect(output).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  test("promtool test rules finds them firing and not firing as described", async () => {
    const cases = readFileSync(join(import.meta.dirname, `${part}-alerts.yaml`), "utf8");
    expect(
      await promtool(part, ["test", "rules", "cases.yaml"], { "cases.yaml": cases }),
    ).toContain("SUCCESS");
  });
});
