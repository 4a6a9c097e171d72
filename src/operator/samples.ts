import type { ConnectionSample, OperatorSamples, QueueSample, ResourceSample } from "../telemetry/operator-metrics.ts";
import { readyIn } from "./api/conditions.ts";
import { reasons } from "./api/reasons.ts";
import type { Controllers } from "./controllers.ts";
import type { ReadonlyStore } from "./kube/cache/object-store.ts";
import type { KubeObject } from "./kube/resource.ts";
import type { Reflectors } from "./reflectors.ts";

export interface SampleSources {
  readonly reflectors: Reflectors;
  /** Those of the shards of this replica; none while others lead. */
  readonly running: ReadonlySet<Controllers>;
  /** Keys of the connections whose circuit breaker is open. */
  readonly openCircuitBreakers: ReadonlySet<string>;
}

/** Returns the current values of the gauges. */
export function operatorSamples({ reflectors, running, openCircuitBreakers }: SampleSources): OperatorSamples {
  const { connections, clusterConnections, secrets, files, pushes } = reflectors;
  return {
    resources: [connections, clusterConnections, secrets, files, pushes].flatMap((each) => resourceSamples(each?.store)),
    queues: queueSamples(running),
    connections: [...running].flatMap((controllers) => connectionSamples(controllers, openCircuitBreakers)),
  };
}

const readyLabels = { True: "true", False: "false", Unknown: "unknown" } as const;

/** Counts the resources of one kind by their condition Ready. */
function resourceSamples(store: ReadonlyStore<KubeObject> | undefined): ResourceSample[] {
  const samples = new Map<string, ResourceSample>();
  for (const { kind, status } of store?.values() ?? []) {
    const condition = readyIn(status);
    // Anyone who may write a status can invent a reason; each would be a series.
    const reason = condition !== undefined && Object.hasOwn(reasons, condition.reason) ? condition.reason : "";
    const ready = readyLabels[condition?.status ?? "Unknown"];
    const key = `${ready} ${reason}`;
    samples.set(key, { kind, ready, reason, count: (samples.get(key)?.count ?? 0) + 1 });
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

function connectionSamples(controllers: Controllers, openCircuitBreakers: ReadonlySet<string>): ConnectionSample[] {
  const samples: ConnectionSample[] = [];
  for (const connection of controllers.connections.keys()) {
    const current = controllers.connections.get(connection);
    if (current.state !== "open") continue;
    samples.push({
      connection,
      listedAt: current.connection.snapshot?.listedAt,
      listAgeMs: controllers.connections.listAgeMs(connection) ?? 0,
      staleResources: current.stale === undefined ? 0 : controllers.usersOf(connection),
      tokenExpiresAt: current.connection.token?.expiresAt,
      circuitBreakerOpen: openCircuitBreakers.has(connection),
    });
  }
  return samples;
}
