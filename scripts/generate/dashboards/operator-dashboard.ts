import type { Dashboard } from "./grafana.ts";
import { ns, processSection, quantile, rate } from "./queries.ts";

const nsConnection = `${ns}, connection=~"$connection"`;

/** The dashboard of the operator. */
export const operatorDashboard: Dashboard = {
  uid: "vaultsync-operator",
  title: "Vaultsync operator",
  description: "Health, changes, connections and requests of the operator.",
  variables: [
    {
      name: "namespace",
      label: "Namespace",
      query: "label_values(vaultsync_leader, namespace)",
      multi: false,
    },
    {
      name: "connection",
      label: "Connection",
      query: `label_values(vaultsync_connection_list_age_seconds{${ns}}, connection)`,
      multi: true,
    },
  ],
  stats: [
    {
      title: "Shards with a leader",
      description:
        "100 %: each shard has exactly one leader. More: two replicas lead the same shard.",
      unit: "percentunit",
      query: `sum(vaultsync_shards_led{${ns}}) / max(vaultsync_shards{${ns}})`,
      colors: ["red", [1, "green"], [1.01, "red"]],
      decimals: 0,
    },
    {
      title: "Resources",
      description: "Resources of all kinds.",
      unit: "short",
      query: `sum(max by (kind, ready, reason) (vaultsync_resources{${ns}}))`,
      colors: ["blue"],
    },
    {
      title: "Not ready",
      description: "Resources with Ready=False.",
      unit: "short",
      query: `sum(max by (kind, reason) (vaultsync_resources{${ns}, ready="false"})) or vector(0)`,
      colors: ["green", [1, "orange"]],
    },
    {
      title: "Stale",
      description: "Resources whose vault was not listed for more than three intervals.",
      unit: "short",
      query: `sum(vaultsync_stale_resources{${nsConnection}}) or vector(0)`,
      colors: ["green", [1, "orange"]],
    },
    {
      title: "Open circuit breakers",
      description: "Connections whose vault failed five times in a row.",
      unit: "short",
      query: `sum(vaultsync_circuit_breaker_open{${nsConnection}}) or vector(0)`,
      colors: ["green", [1, "red"]],
    },
    {
      title: "Change to target, 99th percentile",
      description:
        "Time from the list that showed a change to the write of the target, in the last hour.",
      unit: "s",
      query: `histogram_quantile(0.99, sum by (le) (rate(vaultsync_propagation_seconds_bucket{${ns}}[1h])))`,
      colors: ["green", [10, "orange"], [60, "red"]],
    },
  ],
  sections: [
    {
      title: "Resources",
      lines: [
        [
          {
            title: "Ready, by kind",
            description: "Resources with Ready=True.",
            unit: "short",
            queries: {
              "{{kind}}": `sum by (kind) (max by (kind, reason) (vaultsync_resources{${ns}, ready="true"}))`,
            },
            stacked: true,
          },
          {
            title: "Not ready, by reason",
            description: "docs/status.md#reasons has the remedy of each reason.",
            unit: "short",
            queries: {
              "{{kind}} {{reason}}": `max by (kind, reason) (vaultsync_resources{${ns}, ready="false"})`,
            },
            stacked: true,
          },
          {
            title: "Other conditions",
            description: "Resources by condition.",
            unit: "short",
            queries: {
              "{{kind}} {{condition}}": `max by (kind, condition) (vaultsync_resource_conditions{${ns}})`,
            },
          },
        ],
      ],
    },
    {
      title: "Changes",
      lines: [
        [
          {
            title: "From the list to the target",
            description: "Time from the list that showed a change to the write of the target.",
            unit: "s",
            queries: {
              median: quantile(0.5, "vaultsync_propagation_seconds"),
              "99th percentile": quantile(0.99, "vaultsync_propagation_seconds"),
            },
          },
          {
            title: "Writes of targets and entries",
            description:
              "What is written, and why. repaired: another program had changed the target.",
            unit: "ops",
            queries: {
              "{{kind}} {{action}}": `sum by (kind, action) (${rate("vaultsync_target_writes_total")})`,
            },
          },
          {
            title: "Restarts of workloads",
            description: "Ended restarts by outcome.",
            unit: "ops",
            queries: {
              "{{kind}} {{outcome}}": `sum by (kind, outcome) (${rate("vaultsync_restarts_total")})`,
            },
          },
        ],
      ],
    },
    {
      title: "Connections",
      lines: [
        [
          {
            title: "Age of the last list",
            description: "Grows while the vault is not listed.",
            unit: "s",
            queries: {
              "{{connection}}": `max by (connection) (vaultsync_connection_list_age_seconds{${nsConnection}})`,
            },
          },
          {
            title: "Remaining lifetime of tokens",
            description: "A token is renewed at 27 to 40 %. Below 20 %, its renewal fails.",
            unit: "percentunit",
            queries: {
              "{{connection}}": `min by (connection) ((vaultsync_token_expiry_timestamp_seconds{${nsConnection}} - time()) / vaultsync_token_lifetime_seconds{${nsConnection}})`,
            },
            max: 1,
          },
          {
            title: "Stale resources and open circuit breakers",
            description: "By connection.",
            unit: "short",
            queries: {
              "{{connection}} stale": `sum by (connection) (vaultsync_stale_resources{${nsConnection}})`,
              "{{connection}} open": `max by (connection) (vaultsync_circuit_breaker_open{${nsConnection}})`,
            },
          },
        ],
      ],
    },
    {
      title: "Work",
      lines: [
        [
          {
            title: "Queue",
            description:
              "Resources that wait for a worker, and those that failed and wait for a retry.",
            unit: "short",
            queries: {
              "{{controller}} waiting": `sum by (controller) (vaultsync_workqueue_depth{${ns}})`,
              "{{controller}} retrying": `sum by (controller) (vaultsync_workqueue_retrying{${ns}})`,
            },
          },
          {
            title: "Oldest resource in the queue",
            description: "Time that it waits for a worker.",
            unit: "s",
            queries: {
              "{{controller}}": `max by (controller) (vaultsync_workqueue_oldest_age_seconds{${ns}})`,
            },
          },
          {
            title: "Reconciliations",
            description: "By outcome. retry: an expected failure, error: an unexpected one.",
            unit: "ops",
            queries: { "{{outcome}}": `sum by (outcome) (${rate("vaultsync_reconciles_total")})` },
            stacked: true,
          },
          {
            title: "Duration of reconciliations",
            description: "Median and 99th percentile.",
            unit: "s",
            queries: {
              "{{controller}} median": quantile(0.5, "vaultsync_reconcile_duration_seconds", [
                "controller",
              ]),
              "{{controller}} 99th percentile": quantile(
                0.99,
                "vaultsync_reconcile_duration_seconds",
                ["controller"],
              ),
            },
          },
        ],
      ],
    },
    {
      title: "Requests",
      lines: [
        [
          {
            title: "To vaults, by outcome",
            description: "Requests that the circuit breaker stopped are not counted.",
            unit: "reqps",
            queries: {
              "{{outcome}}": `sum by (outcome) (${rate("vaultsync_client_requests_total")})`,
            },
            stacked: true,
          },
          {
            title: "To vaults, duration by operation",
            description: "99th percentile. A list may wait at the vault for a change.",
            unit: "s",
            queries: {
              "{{operation}}": quantile(0.99, "vaultsync_client_request_duration_seconds", [
                "operation",
              ]),
            },
          },
          {
            title: "Values from the cache",
            description: "Part of the values that needed no request.",
            unit: "percentunit",
            queries: {
              hits: `sum(${rate("vaultsync_value_cache_total", 'result="hit"')}) / sum(${rate("vaultsync_value_cache_total")})`,
            },
            max: 1,
          },
        ],
        [
          {
            title: "To the API server",
            description: "By method and status.",
            unit: "reqps",
            queries: {
              "{{method}} {{status}}": `sum by (method, status) (${rate("vaultsync_api_server_requests_total")})`,
            },
            stacked: true,
          },
          {
            title: "To the API server, duration",
            description: "Median and 99th percentile.",
            unit: "s",
            queries: {
              "{{method}} median": quantile(0.5, "vaultsync_api_server_request_duration_seconds", [
                "method",
              ]),
              "{{method}} 99th percentile": quantile(
                0.99,
                "vaultsync_api_server_request_duration_seconds",
                ["method"],
              ),
            },
          },
        ],
      ],
    },
    processSection("vaultsync_leader"),
  ],
};
