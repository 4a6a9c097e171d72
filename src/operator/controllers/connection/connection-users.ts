import type { Health, Snapshot, SnapshotChange } from "../../vault-client/connection.ts";
import type { RemovalFacts } from "./removal-facts.ts";

/** Callbacks of the client while a connection is open. */
export interface ConnectionCallbacks {
  readonly onChange: (change: SnapshotChange) => void;
  readonly onHealth: (health: Health) => void;
  readonly onTokenChange: () => void;
  readonly onCircuitChange: (open: boolean) => void;
}

/** The resources that use connections. Keys are those of the connections; see `connectionKey`. */
export interface ConnectionUsers {
  /** The list of the vault, which arrived at `listedAt` (monotonic), changed in these names. */
  onSnapshotChange(key: string, change: SnapshotChange, listedAt: number): void;
  /**
   * The connection changed in a way that concerns all its resources. `list` is its first list, or
   * one that covers another kind.
   */
  onConnectionStateChange(key: string, list?: Snapshot): void;
  /** Returns what is known about the names that the resources refer to. */
  removalFactsOf(key: string): RemovalFacts;
}

/** Reports changes of the connections themselves. */
export interface ConnectionReporter {
  /** The status of the connection may have changed. */
  statusChanged(key: string): void;
  /** The circuit breaker of the connection opened or closed. */
  circuitChanged(key: string, open: boolean): void;
}
