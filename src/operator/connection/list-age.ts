import type { Staleness } from "../sync/staleness.ts";
import type { Connection, Health } from "../vault-client/connection.ts";
import type { ConnectionFacts } from "./connection-facts.ts";
import { connectionProblem } from "./connection-problem.ts";

/** The age of the lists of an open connection depends on these. */
export interface Listed {
  readonly connection: Pick<Connection, "snapshot" | "health">;
  readonly facts: ConnectionFacts;
  readonly openedAt: number;
  readonly openedAtMonotonic: number;
  readonly intervalMs: number;
}

/**
 * Number of refresh intervals without a list after which the resources of a connection are `Stale`.
 */
const STALE_AFTER_INTERVALS = 3;
/**
 * Minimum time in milliseconds without a list: a vault that is unavailable every other half minute
 * causes no writes.
 */
const MIN_STALE_MS = 30_000;

/**
 * Returns the monotonic time of the last list, or of the opening of the connection if there was
 * none.
 */
export function lastHeard({ connection, openedAtMonotonic }: Listed): number {
  return connection.snapshot?.listedAtMonotonic ?? openedAtMonotonic;
}

/** Returns the monotonic time from which the connection is stale, unless it lists before. */
export function staleAt(entry: Listed): number {
  return lastHeard(entry) + Math.max(STALE_AFTER_INTERVALS * entry.intervalMs, MIN_STALE_MS);
}

/** Returns the staleness of a connection that becomes stale now. */
export function stalenessOf({ connection, openedAt, facts }: Listed): Staleness {
  return {
    since: connection.snapshot?.listedAt ?? openedAt,
    reason: connectionProblem(connection.health.error, facts).reason,
  };
}

/** State of a stale connection whose vault responds again. */
export interface Recovery {
  /** It became stale without any list: nothing says that the first one is a pause in an outage. */
  unlisted: boolean;
  /** Arrival of the first list after the connection became stale, in monotonic milliseconds. */
  recoveringSince: number | undefined;
}

/**
 * Reports whether two lists in a row arrived since a connection became stale: one may be a pause in
 * an outage. See `unlisted`.
 */
export function hasRecovered(
  entry: Recovery & {
    readonly connection: Pick<Connection, "snapshot">;
    readonly health: Health["state"];
  },
): boolean {
  const listedAt = entry.connection.snapshot?.listedAtMonotonic;
  if (entry.health === "failing" || listedAt === undefined) {
    entry.recoveringSince = undefined;
    return false;
  }
  entry.recoveringSince ??= listedAt;
  return entry.unlisted || listedAt > entry.recoveringSince;
}
