import { MetricsRegistry, type MetricDefinition } from "../../src/telemetry/metrics-registry.ts";
import { apiServerMetrics, operatorMetrics } from "../../src/telemetry/operator-metrics.ts";
import { VaultMetrics } from "../../src/vault/server/metrics.ts";
import { code, plain, table } from "./markdown.ts";

const isClient = ({ name }: MetricDefinition): boolean => name.startsWith("vaultsync_client_");

function metricsTable(definitions: readonly MetricDefinition[]): string {
  return table(
    ["Metric", "Type", "Labels", "Meaning"],
    definitions.map(({ name, type, labels, help }) => [
      code(name),
      type,
      labels.map(code).join(", "),
      plain(help),
    ]),
  );
}

/**
 * Returns the tables of docs/monitoring.md by the name of their section, from the definitions of the
 * metrics.
 */
export function metricsTables(): Record<string, string> {
  const registry = new MetricsRegistry();
  operatorMetrics(registry, () => ({
    connections: [],
    queues: [],
    resources: [],
    conditions: [],
    shards: { configured: 1, led: 0 },
    namespaces: new Map(),
  }));
  const apiServer = new MetricsRegistry();
  apiServerMetrics(apiServer);
  return {
    operator: metricsTable(registry.definitions.filter((definition) => !isClient(definition))),
    client: metricsTable(registry.definitions.filter(isClient)),
    "api-server": metricsTable(apiServer.definitions),
    vault: metricsTable(new VaultMetrics().registry.definitions),
  };
}
