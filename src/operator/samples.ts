import type { ConnectionSample, OperatorSamples, QueueSample } from "../telemetry/operator-metrics.ts";
import type { Controllers } from "./controllers.ts";
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
    resources: {
      VaultConnection: connections.store.size,
      ...(clusterConnections && { ClusterVaultConnection: clusterConnections.store.size }),
      VaultSecret: secrets.store.size,
      VaultFile: files.store.size,
      VaultPush: pushes.store.size,
    },
    queues: queueSamples(running),
    connections: [...running].flatMap((controllers) => connectionSamples(controllers, openCircuitBreakers)),
  };
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
      staleResources: current.staleSince === undefined ? 0 : controllers.usersOf(connection),
      tokenExpiresAt: current.connection.token?.expiresAt,
      circuitBreakerOpen: openCircuitBreakers.has(connection),
    });
  }
  return samples;
}
