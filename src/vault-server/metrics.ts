import { MetricsRegistry } from "../telemetry/metrics-registry.ts";

/** Metrics of a vault server. The names are API. */
export class VaultMetrics {
  readonly registry = new MetricsRegistry();
  readonly requests = this.registry.counter({
    name: "vaultsync_vault_requests_total",
    help: "Total number of requests by operation and HTTP status.",
    labels: ["operation", "status"],
  });
  readonly duration = this.registry.histogram(
    {
      name: "vaultsync_vault_request_duration_seconds",
      help: "Time from the first byte of a request to the end of its response.",
      labels: ["operation"],
    },
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  );
  readonly removed = this.registry.counter({
    name: "vaultsync_vault_secrets_removed_total",
    help: "Total number of secrets removed at their delete_time.",
  });
  readonly emails = this.registry.counter({
    name: "vaultsync_vault_emails_total",
    help: "Total number of attempts to send an email by kind (invitation, confirmation) and outcome (sent, failed, given_up).",
    labels: ["kind", "outcome"],
  });
  readonly waitingLists = this.registry.gauge({
    name: "vaultsync_vault_waiting_lists",
    help: "Number of requests that wait for a change of their list.",
  });
  readonly emailsWaiting = this.registry.gauge({
    name: "vaultsync_vault_emails_waiting",
    help: "Number of emails in the outbox at the last poll.",
  });
}
