import { findCondition } from "../api/conditions.ts";
import type { ConnectionStatus } from "../api/vault-connection.ts";
import { OVERDUE_MS } from "../sync/attempt-status.ts";
import type { Connection } from "../vault-client/connection.ts";
import { AuthError } from "../vault-client/vault-error.ts";

/** An open connection, and how long this process has had it open with this spec. */
export interface WaitingConnection {
  readonly connection: Pick<Connection, "health" | "snapshot">;
  readonly generation: number;
  /** In milliseconds. */
  readonly openMs: number;
}

/**
 * Returns the time in milliseconds after which a connection whose credentials do not exist is
 * Stalled: another resource of the same commit, or another operator, may create them. 0 if it is: a
 * connection that was Ready, or is shown as Stalled, waits for nothing new. `undefined` if it does
 * not lack credentials.
 */
export function credentialsDueInMs(
  { conditions }: ConnectionStatus,
  { connection, generation, openMs }: WaitingConnection,
): number | undefined {
  const { error } = connection.health;
  if (!(error instanceof AuthError) || error.code !== "missing") return undefined;
  const ready = findCondition(conditions, "Ready");
  const isKnown =
    ready?.observedGeneration === generation &&
    (ready.status === "True" || findCondition(conditions, "Stalled") !== undefined);
  if (isKnown || connection.snapshot !== undefined) return 0;
  return Math.max(0, OVERDUE_MS - openMs);
}
