import { DatabaseError } from "pg";
import { describeLocation } from "./postgres-location.ts";
import { StoreUnavailableError } from "../store.ts";

/**
 * SQLSTATE classes and codes (PostgreSQL, appendix A) of a server that is stopping, starting, full, busy or a standby:
 * connection exceptions, insufficient resources, operator intervention (shutdown, time-outs), lock not available, read-only.
 */
const UNAVAILABLE = /^(?:08|53|57|58)|^(?:55P03|25P03|25P04|25006)$/u;

/**
 * What concurrent transactions may cause each other: serialisation failures and deadlocks; unique and foreign keys, which PostgreSQL may
 * check first.
 */
const CONFLICT = /^(?:40001|40P01|23505|23503)$/u;

/** Whether running the same transaction again may help. */
export function isConflict(error: unknown): boolean {
  return (error instanceof DatabaseError && CONFLICT.test(error.code ?? "")) || isOutdatedPlan(error);
}

/** What a conflict is that came once too often: the store is too busy, unless a key is to blame that no other transaction has. */
export function afterLastAttempt(conflict: unknown): unknown {
  const busy = conflict instanceof DatabaseError && conflict.code?.startsWith("40") === true;
  return busy ? new StoreUnavailableError("too many concurrent writes of the same rows", { cause: conflict }) : conflict;
}

/** Whether a statement was prepared for a table that has changed since. */
export function isOutdatedPlan(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "0A000";
}

/**
 * A failure of the client as it leaves the store: what is not an answer of the database is a connection that is gone. What the database
 * quotes of rows stays behind: failures are logged.
 */
export function postgresFailure(error: unknown): unknown {
  if (error instanceof DatabaseError) {
    error.detail = undefined;
    error.where = undefined;
    if (!UNAVAILABLE.test(error.code ?? "")) return error;
  }
  return new StoreUnavailableError("the database is unreachable or overloaded", { cause: error });
}

/** Why the first connection failed, and what to do about it. */
export function connectFailure(location: string, cause: unknown): Error {
  const place = describeLocation(location);
  switch (cause instanceof DatabaseError ? cause.code : undefined) {
    case undefined:
      return new Error(`cannot connect to ${place}: check that it is running and that the URL is correct`, { cause });
    case "28P01":
    case "28000":
      return new Error(`${place} rejected the user: set PGPASSWORD or PGPASSFILE, or check the server's pg_hba.conf`, { cause });
    case "3D000":
      return new Error(`${place} does not exist: create it, with ENCODING 'UTF8'`, { cause });
    default:
      return new Error(`${place} refused the connection`, { cause });
  }
}
