import { conditionTypes } from "../../../src/operator/api/status.ts";
import { reasons } from "../../../src/operator/api/reasons.ts";
import type { ReconcileOutcome } from "../../../src/operator/runtime/controller.ts";
import type { RequestOutcome } from "../../../src/operator/vault-client/observer.ts";
import { operationPath, sessionOperationPath } from "../../../src/protocol/operation-paths.ts";
import { apiServerMetrics } from "../../../src/telemetry/api-server-metrics.ts";
import { MetricsRegistry, type MetricDefinition } from "../../../src/telemetry/metrics-registry.ts";
import { operatorMetrics } from "../../../src/telemetry/operator-metrics.ts";
import { VaultMetrics } from "../../../src/vault/server/metrics.ts";
import type { Part } from "./rules.ts";

const nothing = {
  connections: [],
  queues: [],
  resources: [],
  conditions: [],
  shards: { configured: 1, led: 0 },
  namespaces: new Map(),
};

function processMetrics(): Promise<string> {
  const registry = new MetricsRegistry();
  registry.addProcessMetrics();
  return registry.text();
}

function definitionsOf(part: Part): readonly MetricDefinition[] {
  if (part === "vault") return new VaultMetrics().registry.definitions;
  const registry = new MetricsRegistry();
  operatorMetrics(registry, () => nothing);
  apiServerMetrics(registry);
  return registry.definitions;
}

const suffixes = { counter: [""], gauge: [""], histogram: ["_bucket", "_sum", "_count"] } as const;

/**
 * Returns the labels of every series that the registry of the operator or the vault server can
 * have, by its name.
 */
export async function knownMetrics(part: Part): Promise<ReadonlyMap<string, readonly string[]>> {
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
export const scrapeLabels: readonly string[] = ["namespace", "pod", "instance"];

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
const outcomes: Readonly<Record<string, object>> = {
  vaultsync_reconciles_total: reconcileOutcomes,
  vaultsync_client_requests_total: requestOutcomes,
};
const values: Readonly<Record<string, readonly string[]>> = {
  reason: Object.keys(reasons),
  condition: conditionTypes.filter((type) => type !== "Ready"),
  ready: ["true", "false", "unknown"],
  operation: [...Object.keys(operationPath), ...Object.keys(sessionOperationPath), "none"],
  result: ["hit", "miss"],
  volume: ["data", "audit_log"],
  method: ["GET", "POST", "PUT", "PATCH", "DELETE", "WATCH"],
};

/**
 * Reports whether a label of a metric can have a value. `..` stands for two digits. Labels without
 * a closed set have any.
 */
export function isKnownValue(metric: string, label: string, value: string): boolean {
  if (value === "") return true;
  if (label === "status") return /^([1-5](\d\d|\.\.)|none)$/u.test(value);
  if (label === "outcome") return Object.hasOwn(outcomes[metric] ?? {}, value);
  return values[label]?.includes(value) ?? scrapeLabels.includes(label);
}
