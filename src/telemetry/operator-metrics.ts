import type { MetricsRegistry } from "./metrics-registry.ts";

/** Upper bounds in seconds, from a look that finds nothing to do to a call that runs into its deadline. */
const SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

/** How much the operator looks after at this moment. */
export interface OperatorSizes {
  readonly connections: number;
  /** By kind. */
  readonly resources: Readonly<Record<string, number>>;
}

/** Every metric of the operator. Names and labels are API: dashboards and alerts read them. None has a label of unbounded values. */
export function operatorMetrics(registry: MetricsRegistry, sizes: () => OperatorSizes) {
  return {
    reconciles: registry.counter({
      name: "vaultsync_reconciles_total",
      help: "Looks at a resource, by kind and how they ended.",
      labels: ["controller", "outcome"],
    }),
    reconcileSeconds: registry.histogram(
      { name: "vaultsync_reconcile_seconds", help: "How long one look takes.", labels: ["controller"] },
      SECONDS,
    ),
    vaultCalls: registry.counter({
      name: "vaultsync_vault_calls_total",
      help: "Calls sent to vaults, by operation and outcome.",
      labels: ["operation", "outcome"],
    }),
    vaultCallSeconds: registry.histogram(
      { name: "vaultsync_vault_call_seconds", help: "How long a vault takes to answer.", labels: ["operation"] },
      SECONDS,
    ),
    valueCache: registry.counter({
      name: "vaultsync_value_cache_total",
      help: "Values wanted, by whether they were at hand.",
      labels: ["result"],
    }),
    openCircuits: registry.gauge({
      name: "vaultsync_open_circuits",
      help: "Connections whose vault fails again and again, so that calls are held back.",
    }),
    connections: registry.gauge({ name: "vaultsync_connections", help: "Open connections to vaults." }, (gauge) =>
      gauge.set(sizes().connections),
    ),
    resources: registry.gauge({ name: "vaultsync_resources", help: "Resources known, by kind.", labels: ["kind"] }, (gauge) => {
      for (const [kind, size] of Object.entries(sizes().resources)) gauge.set({ kind }, size);
    }),
    leader: registry.gauge({ name: "vaultsync_leader", help: "1 while this process holds the lease and writes." }),
  };
}

export type OperatorMetrics = ReturnType<typeof operatorMetrics>;
