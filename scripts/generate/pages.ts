import { commandLine } from "./command-line.ts";
import { clientErrorTables, vaultErrorTable } from "./error-tables.ts";
import { resourceFields } from "./resource-fields.ts";
import { vaultApi } from "./vault-api.ts";
import { alertsOf, parts } from "../../test/lab/monitoring/rules.ts";
import { plain, table, code } from "./markdown.ts";
import { operatorCommand } from "../../src/operator/cli/operator.ts";
import { programTable } from "./option-cells.ts";
import { reasons } from "../../src/operator/api/reasons.ts";
import { MetricsRegistry, type MetricDefinition } from "../../src/telemetry/metrics-registry.ts";
import { apiServerMetrics, operatorMetrics } from "../../src/telemetry/operator-metrics.ts";
import { VaultMetrics } from "../../src/vault/server/metrics.ts";
import { NO_SAMPLES } from "../../test/lab/monitoring/no-samples.ts";

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
function metricsTables(): Record<string, string> {
  const registry = new MetricsRegistry();
  operatorMetrics(registry, () => NO_SAMPLES);
  const apiServer = new MetricsRegistry();
  apiServerMetrics(apiServer);
  return {
    operator: metricsTable(registry.definitions.filter((definition) => !isClient(definition))),
    client: metricsTable(registry.definitions.filter(isClient)),
    "api-server": metricsTable(apiServer.definitions),
    vault: metricsTable(new VaultMetrics().registry.definitions),
  };
}

/** Returns every reason of a condition with its remedy, as a table. */
function reasonsTable(): string {
  return table(
    ["Reason", "Requires action", "Remedy"],
    Object.entries(reasons).map(([reason, { remedy, stalled }]) => [
      code(reason),
      stalled ? "yes" : "",
      plain(remedy),
    ]),
  );
}

/** Returns the index of the alerts of each program, as tables with links to their sections. */
function alertTables(): Record<string, string> {
  return Object.fromEntries(
    parts.map((part) => [
      `${part}-alerts`,
      table(
        ["Alert", "Severity", "After"],
        alertsOf(part).map(({ alert, labels, for: duration }) => [
          `[${alert}](#${alert.toLowerCase()})`,
          labels.severity,
          duration,
        ]),
      ),
    ]),
  );
}

/**
 * Returns the generated sections of the hand-written pages, by path and by the name in the
 * section's marker.
 */
export function pageSections(): Map<string, Readonly<Record<string, string>>> {
  return new Map([
    ["docs/command-line.md", commandLine()],
    ["docs/monitoring.md", { ...metricsTables(), ...alertTables() }],
    ["docs/operator.md", { flags: programTable("VAULTSYNC", operatorCommand().options) }],
    ["docs/resources.md", resourceFields()],
    ["docs/status.md", { reasons: reasonsTable(), ...clientErrorTables() }],
    ["docs/vault-api.md", { "vault-codes": vaultErrorTable(), ...vaultApi() }],
  ]);
}
