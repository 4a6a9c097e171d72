import { DatabaseError } from "pg";
import { codeOf } from "../../../../lib/errors.ts";
import { describeLocation } from "./postgres-location.ts";
import { StoreUnavailableError } from "../store.ts";

/**
 * SQLSTATE classes and codes (PostgreSQL, appendix A) of a server that is stopping, starting, full,
 * overloaded or a standby: connection exceptions, insufficient resources, operator intervention
 * (shutdown, timeouts), lock not available, read-only.
 */
const UNAVAILABLE = /^(?:08|53|57|58)|^(?:55P03|25P03|25P04|25006)$/u;

/**
 * Failures that concurrent transactions cause each other: serialization failures and deadlocks;
 * violated unique and foreign keys, because PostgreSQL may check these first.
 */
const CONFLICT = /^(?:40001|40P01|23505|23503)$/u;

/** Reports whether running the same transaction again may succeed. */
export function isConflict(error: unknown): boolean {
  return (
    (error instanceof DatabaseError && CONFLICT.test(error.code ?? "")) || isOutdatedPlan(error)
  );
}

/**
 * Returns the error for the last conflict: the store is overloaded, unless a key is violated by the
 * transaction itself.
 */
export function afterLastAttempt(conflict: unknown): unknown {
  const overloaded = conflict instanceof DatabaseError && conflict.code?.startsWith("40") === true;
  return overloaded
    ? new StoreUnavailableError("too many concurrent writes of the same rows", { cause: conflict })
    : conflict;
}

/** Reports whether a statement was prepared for a table that has changed since. */
export function isOutdatedPlan(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "0A000";
}

/**
 * Converts a failure of the client: any error that is not a response of the database is a lost
 * connection. Details that quote rows are removed, because failures are logged.
 */
export function postgresFailure(error: unknown): unknown {
  if (error instanceof DatabaseError) {
    error.detail = undefined;
    error.where = undefined;
    if (!UNAVAILABLE.test(error.code ?? "")) return error;
  }
  return new StoreUnavailableError("the database is unreachable or overloaded", { cause: error });
}

/** Codes of Node.js and OpenSSL for a certificate that cannot be verified. */
const CERTIFICATE_REJECTED = /^(?:ERR_TLS_CERT_|CERT_|SELF_SIGNED_CERT|DEPTH_ZERO_|UNABLE_TO_)/u;

/** Codes of Node.js for a database, or its name, that cannot be reached now. */
const UNREACHABLE =
  /^(?:ECONN(?:REFUSED|RESET|ABORTED)|ETIMEDOUT|E(?:HOST|NET)UNREACH|EPIPE|ENOENT|ENOTFOUND|EAI_AGAIN)$/u;

/** Reports whether a connection that failed for this reason may succeed later. */
function isTemporary(cause: unknown): boolean {
  if (cause instanceof DatabaseError) return UNAVAILABLE.test(cause.code ?? "");
  // The client's own errors of a time-out and of a connection that the server closed have no code.
  return UNREACHABLE.test(
    codeOf(cause) ??
      (cause instanceof Error && /timeout|terminated/u.test(cause.message) ? "ETIMEDOUT" : ""),
  );
}

/**
 * Returns an error that says why the first connection failed and what to do: a
 * `StoreUnavailableError` if it may succeed later without any other change.
 */
export function connectFailure(location: string, cause: unknown): Error {
  const error = connectError(location, cause);
  return isTemporary(cause) ? new StoreUnavailableError(error.message, { cause }) : error;
}

function connectError(location: string, cause: unknown): Error {
  const place = describeLocation(location);
  const code = codeOf(cause) ?? "";
  if (CERTIFICATE_REJECTED.test(code)) {
    return new Error(
      `the certificate of ${place} was not accepted (${code}): check sslrootcert and the host name`,
      { cause },
    );
  }
  switch (cause instanceof DatabaseError ? cause.code : undefined) {
    case undefined:
      return new Error(
        `cannot connect to ${place}: check that it is running and that the URL is correct`,
        { cause },
      );
    case "28P01":
    case "28000":
      return new Error(
        `${place} rejected the user: set PGPASSWORD or PGPASSFILE, or check the server's pg_hba.conf`,
        { cause },
      );
    case "3D000":
      return new Error(`${place} does not exist: create it, with ENCODING 'UTF8'`, { cause });
    case "57P03":
      return new Error(`${place} is starting or stopping`, { cause });
    case "53300":
      return new Error(
        `${place} has no free connection: raise max_connections, or run fewer servers`,
        { cause },
      );
    default:
      return new Error(`${place} refused the connection`, { cause });
  }
}
