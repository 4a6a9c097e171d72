import type { Operation } from "../../protocol/operation-paths.ts";
import type { VaultErrorKind } from "./vault-error.ts";

/** `unchanged` is a 304; `aborted`: the caller aborted, or the connection was closed. */
export type RequestOutcome = "ok" | "unchanged" | "aborted" | VaultErrorKind;

/** Receives the events that the operator counts in its metrics. */
export interface VaultObserver {
  /** Called for each request that was sent; not for those that the circuit breaker rejected. */
  requestEnded(operation: Operation, outcome: RequestOutcome, durationMs: number): void;
  /** Called when the circuit breaker of the connection opens or closes. */
  circuitBreakerChanged(open: boolean): void;
  /** Called for each value read, with whether the cache had it. */
  valueCacheRead(hit: boolean): void;
}

const ignore = (): void => undefined;
export const silentObserver: VaultObserver = {
  requestEnded: ignore,
  circuitBreakerChanged: ignore,
  valueCacheRead: ignore,
};
