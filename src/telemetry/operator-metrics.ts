import type { MetricsRegistry } from "./metrics-registry.ts";

/** Upper bounds in seconds, from a reconciliation with nothing to do to a request that runs into its deadline. */
const DURATION_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

/** Current numbers of objects that the operator manages. */
export interface OperatorSizes {
  readonly connections: number;
  /** By kind. */
  readonly resources: Readonly<Record<string, number>>;
}

/**
 * Registers every metric of the operator. Names and labels are API: dashboards and alerts read them. The values of each label are
 * a small closed set.
 */
export function operatorMetrics(registry: MetricsRegistry, sizes: () => OperatorSizes) {
  return {
    reconciles: registry.counter({
      name: "vaultsync_reconciles_total",
      help: "Total number of reconciliations per controller and outcome.",
      labels: ["controller", "outcome"],
    }),
    reconcileDuration: registry.histogram(
      {
        name: "vaultsync_reconcile_duration_seconds",
        help: "Duration of reconciliations in seconds, per controller.",
        labels: ["controller"],
      },
      DURATION_BUCKETS,
    ),
    clientRequests: registry.counter({
      name: "vaultsync_client_requests_total",
      help: "Total number of requests sent to vaults, per operation and outcome.",
      labels: ["operation", "outcome"],
    }),
    clientRequestDuration: registry.histogram(
      {
        name: "vaultsync_client_request_duration_seconds",
        help: "Duration of requests to vaults in seconds, per operation.",
        labels: ["operation"],
      },
      DURATION_BUCKETS,
    ),
    valueCache: registry.counter({
      name: "vaultsync_value_cache_total",
      help: "Total number of value cache lookups per result (hit, miss).",
      labels: ["result"],
    }),
    openCircuits: registry.gauge({
      name: "vaultsync_open_circuits",
      help: "Number of vault connections whose circuit breaker is open.",
    }),
    connections: registry.gauge({ name: "vaultsync_connections", help: "Number of open vault connections." }, (gauge) =>
      gauge.set(sizes().connections),
    ),
    resources: registry.gauge(
      { name: "vaultsync_resources", help: "Number of resources in the cache, per kind.", labels: ["kind"] },
      (gauge) => {
        for (const [kind, size] of Object.entries(sizes().resources)) gauge.set({ kind }, size);
      },
    ),
    leader: registry.gauge({ name: "vaultsync_leader", help: "1 while this process is the leader, 0 otherwise." }),
  };
}

export type OperatorMetrics = ReturnType<typeof operatorMetrics>;
