import type { ConnectionSample, OperatorSamples, QueueSample } from "../telemetry/operator-metrics.ts";
import type { Controllers } from "./controllers.ts";
import type { Reflectors } from "./reflectors.ts";

export interface SampleSources {
  readonly reflectors: Reflectors;
  /** `undefined` while another replica leads. */
  readonly controllers: Controllers | undefined;
  /** Keys of the connections whose circuit breaker is open. */
  readonly openCircuitBreakers: ReadonlySet<string>;
}

/** Returns the current values of the gauges. */
export function operatorSamples({ reflectors, controllers, openCircuitBreakers }: SampleSources): OperatorSamples {
  const { connections, secrets, files } = reflectors;
  return {
    resources: { VaultConnection: connections.store.size, VaultSecret: secrets.store.size, VaultFile: files.store.size },
    queues: controllers === undefined ? [] : queueSamples(controllers),
    connections: controllers === undefined ? [] : connectionSamples(controllers, openCircuitBreakers),
  };
}

function queueSamples({ queues }: Controllers): QueueSample[] {
  return Object.entries(queues).map(([controller, { depth, oldestAgeMs, retrying }]) => ({
    controller,
    depth,
    oldestAgeMs,
    retrying,
  }));
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
