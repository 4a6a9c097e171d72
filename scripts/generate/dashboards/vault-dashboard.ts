import type { Dashboard } from "./grafana.ts";
import { ns, processSection, quantile, rate } from "./queries.ts";

/** Uploads and downloads take as long as the network of the client. */
const withoutFiles = 'operation!~"protect_file|download_file"';

/** The dashboard of the vault server. */
export const vaultDashboard: Dashboard = {
  uid: "vaultsync-vault",
  title: "Vaultsync vault",
  description: "Requests, storage and limits of the vault server.",
  variables: [
    {
      name: "namespace",
      label: "Namespace",
      query: "label_values(vaultsync_vault_waiting_lists, namespace)",
      multi: false,
    },
  ],
  stats: [
    {
      title: "Requests",
      description: "All requests per second.",
      unit: "reqps",
      query: `sum(${rate("vaultsync_vault_requests_total")})`,
      colors: ["blue"],
    },
    {
      title: "Errors of the server",
      description: "Part of the requests with a status of 500 or more.",
      unit: "percentunit",
      query: `(sum(${rate("vaultsync_vault_requests_total", 'status=~"5.."')}) or vector(0)) / sum(${rate("vaultsync_vault_requests_total")})`,
      colors: ["green", [0.01, "orange"], [0.05, "red"]],
    },
    {
      title: "99th percentile",
      description: "Duration of requests without uploads and downloads.",
      unit: "s",
      query: quantile(0.99, "vaultsync_vault_request_duration_seconds", [], withoutFiles),
      colors: ["green", [0.5, "orange"], [1, "red"]],
    },
    {
      title: "Free disk space",
      description: "The smallest of the volumes.",
      unit: "bytes",
      query: `min(vaultsync_vault_free_bytes{${ns}})`,
      colors: ["blue"],
    },
    {
      title: "Rejections for space",
      description: "Volumes with less than --low-space: requests that add data are rejected.",
      unit: "short",
      query: `sum(vaultsync_vault_low_space{${ns}})`,
      colors: ["green", [1, "red"]],
    },
    {
      title: "Audit log",
      description: "0: it can be written. Otherwise no request is served.",
      unit: "short",
      query: `max(vaultsync_vault_audit_log_unavailable{${ns}})`,
      colors: ["green", [1, "red"]],
    },
  ],
  sections: [
    {
      title: "Requests",
      lines: [
        [
          {
            title: "By status",
            description: "",
            unit: "reqps",
            queries: {
              "{{status}}": `sum by (status) (${rate("vaultsync_vault_requests_total")})`,
            },
            stacked: true,
          },
          {
            title: "By operation",
            description: "",
            unit: "reqps",
            queries: {
              "{{operation}}": `sum by (operation) (${rate("vaultsync_vault_requests_total")})`,
            },
            stacked: true,
          },
          {
            title: "Errors of the server, by operation",
            description: "Statuses of 500 or more.",
            unit: "reqps",
            queries: {
              "{{operation}} {{status}}": `sum by (operation, status) (${rate("vaultsync_vault_requests_total", 'status=~"5.."')})`,
            },
          },
        ],
        [
          {
            title: "Duration, all operations",
            description:
              "Without uploads and downloads, which take as long as the client's network.",
            unit: "s",
            queries: {
              median: quantile(0.5, "vaultsync_vault_request_duration_seconds", [], withoutFiles),
              "90th percentile": quantile(
                0.9,
                "vaultsync_vault_request_duration_seconds",
                [],
                withoutFiles,
              ),
              "99th percentile": quantile(
                0.99,
                "vaultsync_vault_request_duration_seconds",
                [],
                withoutFiles,
              ),
            },
          },
          {
            title: "Duration by operation",
            description: "99th percentile.",
            unit: "s",
            queries: {
              "{{operation}}": quantile(
                0.99,
                "vaultsync_vault_request_duration_seconds",
                ["operation"],
                withoutFiles,
              ),
            },
          },
          {
            title: "Waiting lists",
            description: "Requests that wait for a change of their list.",
            unit: "short",
            queries: { "{{pod}}": `sum by (pod) (vaultsync_vault_waiting_lists{${ns}})` },
          },
        ],
      ],
    },
    {
      title: "Storage",
      lines: [
        [
          {
            title: "Free disk space",
            description: "Below low-space, requests that add data are rejected.",
            unit: "bytes",
            queries: {
              "{{pod}} {{volume}}": `min by (pod, volume) (vaultsync_vault_free_bytes{${ns}})`,
              "{{volume}} low-space": `max by (volume) (vaultsync_vault_low_space_bytes{${ns}})`,
            },
          },
          {
            title: "Stored values and files",
            description: "Size of all values, their metadata and files.",
            unit: "bytes",
            queries: { stored: `max(vaultsync_vault_stored_bytes{${ns}})` },
          },
          {
            title: "Secrets and versions",
            description: "Of all accounts.",
            unit: "short",
            queries: {
              secrets: `max(vaultsync_vault_secrets{${ns}})`,
              versions: `max(vaultsync_vault_versions{${ns}})`,
            },
          },
        ],
      ],
    },
    {
      title: "Limits, logins and email",
      lines: [
        [
          {
            title: "Rejections because of a quota",
            description: "",
            unit: "reqps",
            queries: {
              "{{quota}}": `sum by (quota) (${rate("vaultsync_vault_quota_rejections_total")})`,
            },
          },
          {
            title: "Password hashes",
            description: "By memory, which is part of their cost.",
            unit: "ops",
            queries: {
              "{{memory_kib}} KiB": `sum by (memory_kib) (${rate("vaultsync_vault_password_hashes_total")})`,
            },
          },
          {
            title: "Emails",
            description: "Attempts by kind and outcome, and emails that wait.",
            unit: "short",
            queries: {
              "{{kind}} {{outcome}}": `sum by (kind, outcome) (${rate("vaultsync_vault_emails_total")})`,
              waiting: `max(vaultsync_vault_emails_waiting{${ns}})`,
            },
          },
          {
            title: "Secrets removed at their delete_time",
            description: "",
            unit: "ops",
            queries: { removed: `sum(${rate("vaultsync_vault_secrets_removed_total")})` },
          },
        ],
      ],
    },
    processSection("vaultsync_vault_waiting_lists"),
  ],
};
