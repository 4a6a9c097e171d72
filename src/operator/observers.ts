import type { OperatorMetrics } from "../telemetry/operator-metrics.ts";
import type { SyncObserver } from "./controllers.ts";
import type { VaultObserver } from "./vault-client/observer.ts";

const restartOutcomes = {
  RolledOut: "rolled_out",
  Failed: "failed",
  TimedOut: "timed_out",
} as const;

/**
 * Returns an observer that counts and times reconciliations, and times changes from the vault to
 * the target.
 */
export function syncObserver(metrics: OperatorMetrics): SyncObserver {
  return {
    reconciled(controller, outcome, durationMs) {
      metrics.reconciles.inc({ controller, outcome });
      metrics.reconcileDuration.observe({ controller }, durationMs / 1000);
    },
    changePropagated(durationMs) {
      metrics.propagation.observe(durationMs / 1000);
    },
    written(kind, action) {
      metrics.targetWrites.inc({ kind, action });
    },
    restartEnded(kind, result) {
      metrics.restarts.inc({ kind, outcome: restartOutcomes[result] });
    },
  };
}

/**
 * Returns the observer of a new client of a vault. It counts and times requests, and counts cache
 * lookups.
 * @param openCircuitBreakers keys of the connections whose circuit breaker is open; the observer
 * updates them
 */
export function vaultObserver(
  metrics: OperatorMetrics,
  key: string,
  openCircuitBreakers: Set<string>,
): VaultObserver {
  openCircuitBreakers.delete(key);
  return {
    requestEnded(operation, outcome, durationMs) {
      metrics.clientRequests.inc({ operation, outcome });
      metrics.clientRequestDuration.observe({ operation }, durationMs / 1000);
    },
    circuitBreakerChanged(open) {
      if (open) openCircuitBreakers.add(key);
      else openCircuitBreakers.delete(key);
    },
    valueCacheRead(hit) {
      metrics.valueCache.inc({ result: hit ? "hit" : "miss" });
    },
  };
}
