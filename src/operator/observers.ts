import type { ControllerObserver } from "./runtime/controller.ts";
import type { OperatorMetrics } from "../telemetry/operator-metrics.ts";
import type { VaultObserver } from "./vault-client/observer.ts";

/** Returns an observer that counts and times reconciliations. */
export function controllerObserver(metrics: OperatorMetrics): ControllerObserver {
  return {
    reconciled(controller, outcome, durationMs) {
      metrics.reconciles.inc({ controller, outcome });
      metrics.reconcileDuration.observe({ controller }, durationMs / 1000);
    },
  };
}

/** Returns an observer that counts and times requests to vaults, open circuit breakers and cache lookups. */
export function vaultObserver(metrics: OperatorMetrics): VaultObserver {
  return {
    requestEnded(operation, outcome, durationMs) {
      metrics.clientRequests.inc({ operation, outcome });
      metrics.clientRequestDuration.observe({ operation }, durationMs / 1000);
    },
    circuitBreakerChanged(open) {
      if (open) metrics.openCircuits.inc();
      else metrics.openCircuits.dec();
    },
    valueCacheRead(hit) {
      metrics.valueCache.inc({ result: hit ? "hit" : "miss" });
    },
  };
}
