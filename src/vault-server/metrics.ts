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
  readonly letters = this.registry.counter({
    name: "vaultsync_vault_letters_total",
    help: "Attempts to send a letter by kind (invitation, confirmation) and outcome (sent, failed, given_up).",
    labels: ["kind", "outcome"],
  });
  readonly lettersWaiting = this.registry.gauge({
    name: "vaultsync_vault_letters_waiting",
    help: "Letters in the outbox when it was last looked into.",
  });
}
