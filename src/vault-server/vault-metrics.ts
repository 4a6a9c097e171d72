import { MetricsRegistry } from "../telemetry/metrics-registry.ts";

/** What a vault server counts. The names are API. */
export class VaultMetrics {
  readonly registry = new MetricsRegistry();
  readonly requests = this.registry.counter({
    name: "vaultsync_vault_requests_total",
    help: "Answered requests by operation and HTTP status.",
    labels: ["operation", "status"],
  });
  readonly duration = this.registry.histogram(
    {
      name: "vaultsync_vault_request_duration_seconds",
      help: "Time from a request's first byte to the end of its answer.",
      labels: ["operation"],
    },
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  );
  readonly removed = this.registry.counter({
    name: "vaultsync_vault_secrets_removed_total",
    help: "Secrets wiped because their delete_time had come.",
  });
}
