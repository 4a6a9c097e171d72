import type { Counter } from "prom-client";
import type { MetricDescription, MetricsRegistry } from "./metrics-registry.ts";

/**
 * Upper bounds in seconds, from a reconciliation with nothing to do to a request that runs into its
 * deadline.
 */
const DURATION_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];
/**
 * Upper bounds in seconds, from a read out of the server's cache to a request that runs into its
 * deadline.
 */
const API_DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 30];
/**
 * Upper bounds in seconds, from a single change to one among thousands, or one that the API server
 * delayed.
 */
const PROPAGATION_BUCKETS = [0.01, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** The state of an open connection. Times are in milliseconds since the epoch. */
export interface ConnectionSample {
  /** `namespace/name` of a VaultConnection, `name` of a ClusterVaultConnection. */
  readonly connection: string;
  /** Arrival of the last list. */
  readonly listedAt: number | undefined;
  /** Duration since that arrival, or since the connection was opened if there was no list yet. */
  readonly listAgeMs: number;
  readonly staleResources: number;
  readonly tokenExpiresAt: number | undefined;
  /** Duration from the login or refresh to that time. */
  readonly tokenLifetimeMs: number | undefined;
  readonly circuitBreakerOpen: boolean;
}

/** The state of the work queue of a controller. */
export interface QueueSample {
  readonly controller: string;
  /** Number of keys that wait for a worker. */
  readonly depth: number;
  /** Time that the oldest of them waits. */
  readonly oldestAgeMs: number;
  /** Number of keys that failed and wait for their retry. */
  readonly retrying: number;
}

/** Number of resources of a kind in a namespace whose condition Ready is the same. */
export interface ResourceSample {
  readonly kind: string;
  /** Empty for a cluster-scoped kind. */
  readonly namespace: string;
  /** Status of the condition; `unknown` without one. */
  readonly ready: "true" | "false" | "unknown";
  /** Reason of the condition; empty without one. */
  readonly reason: string;
  readonly count: number;
}

/** Number of resources of a kind in a namespace that have a condition other than Ready. */
export interface ConditionSample {
  readonly kind: string;
  /** Empty for a cluster-scoped kind. */
  readonly namespace: string;
  readonly condition: string;
  readonly count: number;
}

/** Parts that all connections are divided into. */
interface ShardsSample {
  readonly configured: number;
  /** Number of them that this process works on. */
  readonly led: number;
}

/** Current values of the gauges. */
export interface OperatorSamples {
  readonly connections: readonly ConnectionSample[];
  readonly queues: readonly QueueSample[];
  readonly resources: readonly ResourceSample[];
  readonly conditions: readonly ConditionSample[];
  /**
   * For each namespace of the operator's list, whether the API server denies its lists or watches;
   * empty without such a list.
   */
  readonly namespaces: ReadonlyMap<string, boolean>;
  readonly shards: ShardsSample;
}

/**
 * Registers every metric of the operator. Names and labels are API: dashboards and alerts read
 * them. The values of each label are a small closed set, or the connections.
 *
 * @param read returns the current state; series of objects that it does not contain are removed
 */
export function operatorMetrics(registry: MetricsRegistry, read: () => OperatorSamples) {
  queueGauges(registry, () => read().queues);
  connectionGauges(registry, () => read().connections);
  resourceGauges(registry, read);
  namespaceGauge(registry, () => read().namespaces);
  shardGauges(registry, () => read().shards);
  registry.addBuildInfo("vaultsync_build_info", "operator");
  return {
    reconciles: registry.counter({
      name: "vaultsync_reconciles_total",
      help: "Total number of reconciliations per controller and outcome (done, not_ready, retry, error, aborted).",
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
    targetWrites: registry.counter({
      name: "vaultsync_target_writes_total",
      help: "Total number of writes of targets, and of entries that are pushed to, per kind of the resource and action.",
      labels: ["kind", "action"],
    }),
    propagation: registry.histogram(
      {
        name: "vaultsync_propagation_seconds",
        help: "Time in seconds from the list that showed a change to the write of the target.",
      },
      PROPAGATION_BUCKETS,
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
    restarts: restartCounter(registry),
    leader: registry.gauge({
      name: "vaultsync_leader",
      help: "1 while this process is the leader, 0 otherwise.",
    }),
  };
}

export type OperatorMetrics = ReturnType<typeof operatorMetrics>;

/** Kinds of workloads, and outcomes of their restarts. */
const restartKinds = ["Deployment", "StatefulSet", "DaemonSet", "Rollout"];
const restartOutcomes = ["rolled_out", "failed", "timed_out"];

/** A series that begins with the first failure would show no increase: each begins with zero. */
function restartCounter(registry: MetricsRegistry): Counter<"kind" | "outcome"> {
  const counter = registry.counter({
    name: "vaultsync_restarts_total",
    help: "Total number of restarts of workloads that ended, per kind and outcome (rolled_out, failed, timed_out).",
    labels: ["kind", "outcome"],
  });
  for (const kind of restartKinds)
    for (const outcome of restartOutcomes) counter.inc({ kind, outcome }, 0);
  return counter;
}

/** Returns the state of a resource: a resource that only waits for its connection is not failing. */
function stateOf({ ready, reason }: ResourceSample): string {
  if (ready === "true") return "ready";
  if (ready === "unknown") return "unknown";
  return reason === "ConnectionNotReady" ? "waiting" : "not_ready";
}

/**
 * Registers the gauges of resources. Each pair is counted in one pass over all resources: the first
 * gauge sets both, because it is read before the second. Prometheus adds another label `namespace`: the
 * namespace of the pod.
 */
function resourceGauges(registry: MetricsRegistry, read: () => OperatorSamples): void {
  registry.gauge(
    {
      name: "vaultsync_resources",
      help: "Number of resources per kind, and status and reason of their condition Ready.",
      labels: ["kind", "ready", "reason"],
    },
    (gauge) => {
      inNamespaces.reset();
      for (const sample of read().resources) {
        const { kind, namespace, ready, reason, count } = sample;
        gauge.inc({ kind, ready, reason }, count);
        inNamespaces.inc({ resource_namespace: namespace, kind, state: stateOf(sample) }, count);
      }
    },
  );
  const inNamespaces = registry.gauge({
    name: "vaultsync_namespace_resources",
    help: "Number of resources per namespace, kind and state (ready, not_ready, waiting for the connection, unknown).",
    labels: ["resource_namespace", "kind", "state"],
  });
  registry.gauge(
    {
      name: "vaultsync_resource_conditions",
      help: "Number of resources per kind and condition other than Ready that is True, or False for Converged.",
      labels: ["kind", "condition"],
    },
    (gauge) => {
      conditionsInNamespaces.reset();
      for (const { kind, namespace, condition, count } of read().conditions) {
        gauge.inc({ kind, condition }, count);
        conditionsInNamespaces.inc({ resource_namespace: namespace, kind, condition }, count);
      }
    },
  );
  const conditionsInNamespaces = registry.gauge({
    name: "vaultsync_namespace_resource_conditions",
    help: "Number of resources per namespace, kind and condition other than Ready that is True, or False for Converged; AwaitingApproval is a reason of UpdateAvailable.",
    labels: ["resource_namespace", "kind", "condition"],
  });
}

function namespaceGauge(registry: MetricsRegistry, read: () => ReadonlyMap<string, boolean>): void {
  registry.gauge(
    {
      name: "vaultsync_namespace_unavailable",
      // Prometheus adds another label `namespace`: the namespace of the pod.
      help: "1 while the API server denies access to a namespace of --namespaces or --namespaces-file, 0 otherwise; per namespace.",
      labels: ["served_namespace"],
    },
    (gauge) => {
      for (const [namespace, isUnavailable] of read())
        gauge.set({ served_namespace: namespace }, Number(isUnavailable));
    },
  );
}

function shardGauges(registry: MetricsRegistry, read: () => ShardsSample): void {
  registry.gauge(
    {
      name: "vaultsync_shards",
      help: "Number of shards that all connections are divided into (--shards).",
    },
    (gauge) => gauge.set(read().configured),
  );
  registry.gauge(
    { name: "vaultsync_shards_led", help: "Number of shards that this process leads." },
    (gauge) => gauge.set(read().led),
  );
}

function queueGauges(registry: MetricsRegistry, read: () => readonly QueueSample[]): void {
  const gauge = (name: string, help: string, valueOf: (queue: QueueSample) => number): void => {
    registry.gauge(
      { name: `vaultsync_workqueue_${name}`, help, labels: ["controller"] },
      (collected) => {
        for (const queue of read()) collected.set({ controller: queue.controller }, valueOf(queue));
      },
    );
  };
  gauge(
    "depth",
    "Number of resources that wait for a worker, per controller.",
    ({ depth }) => depth,
  );
  gauge(
    "oldest_age_seconds",
    "Time in seconds that the oldest resource waits for a worker, per controller.",
    ({ oldestAgeMs }) => oldestAgeMs / 1000,
  );
  gauge(
    "retrying",
    "Number of resources that failed and wait for a retry, per controller.",
    ({ retrying }) => retrying,
  );
}

function connectionGauges(
  registry: MetricsRegistry,
  read: () => readonly ConnectionSample[],
): void {
  const gauge = (
    { name, help }: MetricDescription<never>,
    valueOf: (connection: ConnectionSample) => number | undefined,
  ): void => {
    registry.gauge({ name: `vaultsync_${name}`, help, labels: ["connection"] }, (collected) => {
      for (const sample of read()) {
        const value = valueOf(sample);
        if (value !== undefined) collected.set({ connection: sample.connection }, value);
      }
    });
  };
  registry.gauge(
    { name: "vaultsync_connections", help: "Number of open vault connections." },
    (collected) => collected.set(read().length),
  );
  gauge(
    {
      name: "connection_last_success_timestamp_seconds",
      help: "Time of the last list of the vault, per connection.",
    },
    ({ listedAt }) => listedAt && listedAt / 1000,
  );
  gauge(
    {
      name: "connection_list_age_seconds",
      help: "Time in seconds since the last list of the vault, or since the connection was opened without a list, per connection.",
    },
    ({ listAgeMs }) => listAgeMs / 1000,
  );
  gauge(
    {
      name: "stale_resources",
      help: "Number of resources that may be out of date: their vault was not listed for too long; per connection.",
    },
    ({ staleResources }) => staleResources,
  );
  gauge(
    {
      name: "token_expiry_timestamp_seconds",
      help: "Time at which the token expires, per connection.",
    },
    ({ tokenExpiresAt }) => tokenExpiresAt && tokenExpiresAt / 1000,
  );
  gauge(
    {
      name: "token_lifetime_seconds",
      help: "Time in seconds from the last login or refresh to the expiry of the token, per connection.",
    },
    ({ tokenLifetimeMs }) => tokenLifetimeMs && tokenLifetimeMs / 1000,
  );
  gauge(
    {
      name: "circuit_breaker_open",
      help: "1 while the circuit breaker of a connection is open, 0 otherwise.",
    },
    (sample) => Number(sample.circuitBreakerOpen),
  );
}

/**
 * @param status HTTP status of the response, `none` without a response. The duration of a watch is
 * that until it is open.
 */
type RequestObserver = (method: string, status: string, durationMs: number) => void;

/**
 * Registers the metrics of requests to the API server, and returns the observer that counts and
 * times them.
 */
export function apiServerMetrics(registry: MetricsRegistry): RequestObserver {
  const requests = registry.counter({
    name: "vaultsync_api_server_requests_total",
    help: "Total number of requests sent to the API server, per method (GET, POST, PUT, PATCH, DELETE, WATCH) and HTTP status (none without a response).",
    labels: ["method", "status"],
  });
  const duration = registry.histogram(
    {
      name: "vaultsync_api_server_request_duration_seconds",
      help: "Duration of requests to the API server in seconds, per method; of watches until they are open.",
      labels: ["method"],
    },
    API_DURATION_BUCKETS,
  );
  return (method, status, durationMs) => {
    requests.inc({ method, status });
    duration.observe({ method }, durationMs / 1000);
  };
}
