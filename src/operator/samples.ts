import type {
  ConditionSample,
  ConnectionSample,
  OperatorSamples,
  QueueSample,
  ResourceSample,
} from "../telemetry/operator-metrics.ts";
import { readyIn, notableConditionsIn } from "./api/conditions.ts";
import { reasons } from "./api/reasons.ts";
import type { Controllers } from "./controllers.ts";
import type { ReadonlyStore } from "./kube/cache/object-store.ts";
import type { NamespaceWatches } from "./kube/cache/namespace-watches.ts";
import { ALL_NAMESPACES, type KubeObject } from "./kube/resource.ts";
import type { Reflectors } from "./reflectors.ts";

export interface SampleSources {
  readonly reflectors: Reflectors;
  readonly watches: Pick<NamespaceWatches, "denied">;
  /** Controllers of the shards that this replica leads; empty while it leads none. */
  readonly running: ReadonlySet<Controllers>;
  /** Keys of the connections whose circuit breaker is open. */
  readonly openCircuitBreakers: ReadonlySet<string>;
  /** Number of all shards. */
  readonly shards: number;
}

/**
 * Returns the current values of the gauges. Each value is computed when its gauge reads it;
 * counting the resources takes a pass over all of them.
 */
export function operatorSamples({
  reflectors,
  watches,
  running,
  openCircuitBreakers,
  shards,
}: SampleSources): OperatorSamples {
  const { connections, clusterConnections, secrets, files, pushes } = reflectors;
  const { clusterSecrets, clusterFiles } = reflectors;
  const kinds = [connections, clusterConnections, secrets, files, clusterSecrets, clusterFiles];
  const stores = [...kinds, pushes].map((each) => each?.store);
  return {
    get resources() {
      return stores.flatMap(resourceSamples);
    },
    get conditions() {
      return stores.flatMap(conditionSamples);
    },
    get namespaces() {
      return new Map([...watches.denied].filter(([namespace]) => namespace !== ALL_NAMESPACES));
    },
    get shards() {
      return { configured: shards, led: running.size };
    },
    get queues() {
      return queueSamples(running);
    },
    get connections() {
      return [...running].flatMap((controllers) =>
        connectionSamples(controllers, openCircuitBreakers),
      );
    },
  };
}

const readyLabels = { True: "true", False: "false", Unknown: "unknown" } as const;

/** Counts the resources of one kind by namespace and condition Ready. */
function resourceSamples(store: ReadonlyStore<KubeObject> | undefined): ResourceSample[] {
  const samples = new Map<string, ResourceSample>();
  for (const { kind, metadata, status } of store?.values() ?? []) {
    const condition = readyIn(status);
    // Anyone who may write a status can invent a reason; each would be a series.
    const reason =
      condition !== undefined && Object.hasOwn(reasons, condition.reason) ? condition.reason : "";
    const ready = readyLabels[condition?.status ?? "Unknown"];
    const namespace = metadata.namespace ?? "";
    const key = `${namespace} ${ready} ${reason}`;
    const count = (samples.get(key)?.count ?? 0) + 1;
    samples.set(key, { kind, namespace, ready, reason, count });
  }
  return [...samples.values()];
}

/** Counts the resources of one kind by namespace and each condition that they have. */
function conditionSamples(store: ReadonlyStore<KubeObject> | undefined): ConditionSample[] {
  const samples = new Map<string, ConditionSample>();
  for (const { kind, metadata, status } of store?.values() ?? []) {
    const namespace = metadata.namespace ?? "";
    for (const condition of notableConditionsIn(status)) {
      const key = `${namespace} ${condition}`;
      const count = (samples.get(key)?.count ?? 0) + 1;
      samples.set(key, { kind, namespace, condition, count });
    }
  }
  return [...samples.values()];
}

/** Sums up the queues of all shards by controller. */
function queueSamples(running: ReadonlySet<Controllers>): QueueSample[] {
  const samples = new Map<string, QueueSample>();
  for (const { queues } of running) {
    for (const [controller, { depth, oldestAgeMs, retrying }] of Object.entries(queues)) {
      const others = samples.get(controller) ?? { depth: 0, oldestAgeMs: 0, retrying: 0 };
      samples.set(controller, {
        controller,
        depth: others.depth + depth,
        oldestAgeMs: Math.max(others.oldestAgeMs, oldestAgeMs),
        retrying: others.retrying + retrying,
      });
    }
  }
  return [...samples.values()];
}

function connectionSamples(
  controllers: Controllers,
  openCircuitBreakers: ReadonlySet<string>,
): ConnectionSample[] {
  const samples: ConnectionSample[] = [];
  for (const connection of controllers.connections.keys()) {
    const current = controllers.connections.get(connection);
    if (current.state !== "open") continue;
    const { token } = current.connection;
    samples.push({
      connection,
      listedAt: current.connection.snapshot?.listedAt,
      listAgeMs: controllers.connections.listAgeMs(connection) ?? 0,
      staleResources: current.stale === undefined ? 0 : controllers.usersOf(connection),
      tokenExpiresAt: token?.expiresAt,
      tokenLifetimeMs: token && token.expiresAt - token.refreshedAt,
      circuitBreakerOpen: openCircuitBreakers.has(connection),
    });
  }
  return samples;
}
