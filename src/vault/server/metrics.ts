import { MetricsRegistry } from "../../telemetry/metrics-registry.ts";

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
  readonly untrustedForwarded = this.registry.counter({
    name: "vaultsync_vault_untrusted_forwarded_requests_total",
    help: "Total number of requests whose x-forwarded-for or forwarded header was ignored, because --trust-proxy does not list their peer.",
  });
  readonly removed = this.registry.counter({
    name: "vaultsync_vault_secrets_removed_total",
    help: "Total number of secrets removed at their delete_time.",
  });
  readonly quotaRejections = this.registry.counter({
    name: "vaultsync_vault_quota_rejections_total",
    help: "Total number of requests rejected because of a quota, by quota.",
    labels: ["quota"],
  });
  readonly secrets = this.registry.gauge({
    name: "vaultsync_vault_secrets",
    help: "Number of secrets of all accounts at the last sweep.",
  });
  readonly versions = this.registry.gauge({
    name: "vaultsync_vault_versions",
    help: "Number of versions of all secrets and files at the last sweep.",
  });
  readonly storedBytes = this.registry.gauge({
    name: "vaultsync_vault_stored_bytes",
    help: "Size of all values, their metadata and files at the last sweep.",
  });
  readonly freeBytes = this.registry.gauge({
    name: "vaultsync_vault_free_bytes",
    help: "Free disk space for the data file (volume data) and, if it is on another file system, for the audit log (audit_log).",
    labels: ["volume"],
  });
  readonly lowSpaceBytes = this.registry.gauge({
    name: "vaultsync_vault_low_space_bytes",
    help: "Free disk space below which requests that add data are rejected (--low-space), per volume.",
    labels: ["volume"],
  });
  readonly lowSpace = this.registry.gauge({
    name: "vaultsync_vault_low_space",
    help: "1 while requests that add data are rejected because of little disk space, 0 otherwise, per volume.",
    labels: ["volume"],
  });
  readonly auditLogUnavailable = this.registry.gauge({
    name: "vaultsync_vault_audit_log_unavailable",
    help: "1 while requests are rejected because the audit log cannot be written, 0 otherwise.",
  });
  readonly damagedRights = this.registry.counter({
    name: "vaultsync_vault_damaged_rights_total",
    help: "Total number of reads of rows that no server with this master key has written, and which therefore give nothing, by table.",
    labels: ["table"],
  });
  readonly auditForwarded = this.registry.counter({
    name: "vaultsync_vault_audit_forwarded_lines_total",
    help: "Total number of lines of the audit log that were forwarded (--audit-forward).",
  });
  readonly auditForwardDropped = this.registry.counter({
    name: "vaultsync_vault_audit_forward_dropped_lines_total",
    help: "Total number of lines of the audit log that were not forwarded, by reason (queue_full, too_long, stopped); the audit log has them.",
    labels: ["reason"],
  });
  readonly emails = this.registry.counter({
    name: "vaultsync_vault_emails_total",
    help: "Total number of attempts to send an email by kind (invitation, confirmation, password_changed) and outcome (sent, omitted, failed, given_up).",
    labels: ["kind", "outcome"],
  });
  readonly passwordHashes = this.registry.counter({
    name: "vaultsync_vault_password_hashes_total",
    help: "Total number of passwords hashed, by memory_kib, which is part of the cost.",
    labels: ["memory_kib"],
  });
  readonly waitingLists = this.registry.gauge({
    name: "vaultsync_vault_waiting_lists",
    help: "Number of requests that wait for a change of their list.",
  });
  readonly openListBytes = this.registry.gauge({
    name: "vaultsync_vault_open_list_bytes",
    help: "Size of the lists that are kept in memory while clients read them.",
  });
  readonly emailsWaiting = this.registry.gauge({
    name: "vaultsync_vault_emails_waiting",
    help: "Number of emails in the outbox at the last poll.",
  });

  constructor() {
    this.registry.addBuildInfo("vaultsync_vault_build_info", "vault server");
  }
}
