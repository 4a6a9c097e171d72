import type { Reason } from "../../api/reasons.ts";
import type { PermanentCode, TransientError, VaultError } from "../../vault-client/vault-error.ts";
import { type Failure, lasting, retryable, waitFor } from "./outcome.ts";

/**
 * Retry interval in milliseconds for failures whose fix the operator cannot observe, such as a
 * permission.
 */
const SLOW_RETRY_MS = 60_000;
/**
 * Time in milliseconds after which a rejected request is tried again: permissions may have changed.
 * A change of the spec or the list requeues the resource earlier.
 */
const PERMANENT_WAIT_MS = 10 * 60_000;

/** Meaning of a rejection of the vault, and what a user can do, if anything. */
interface Rejection {
  readonly reason: Reason;
  readonly text?: string;
  /** The same of a write. */
  readonly textOfWrite?: string;
}

const UNFOUND = "the vault lists it, but does not find it";

const rejections: Readonly<Record<PermanentCode, Rejection>> = {
  secret_not_found: { reason: "SourceMissing", text: UNFOUND },
  file_not_found: { reason: "SourceMissing", text: UNFOUND },
  version_not_found: {
    reason: "VersionNotFound",
    text: "the vault does not have this version: set version to an existing one, or to latest",
  },
  ambiguous_name: {
    reason: "AmbiguousName",
    text: "several creators share a secret of this name: set remoteRef.owner to one of them",
  },
  out_of_scope: {
    reason: "ScopeDenied",
    text: "it is outside spec.scope of the connection, by its name or its metadata: extend the scope",
  },
  forbidden: {
    reason: "ScopeDenied",
    text: "the account lacks the permission: ask its creator to share it accordingly",
  },
  secret_expired: {
    reason: "Expired",
    text: "it has expired, and the vault does not serve it: create a new version",
  },
  too_large: {
    reason: "TooLarge",
    text: "its value is too large: split it",
    textOfWrite: "the vault rejected it as too large: push it as a file, or split it",
  },
  quota_exceeded: {
    reason: "QuotaExceeded",
    text: "a quota of the vault is used up: raise it, or free some of it",
    textOfWrite:
      "the account, or the creator of the secret, has used up a quota of the vault: raise it, or free some of it",
  },
  // Only lists have this code.
  list_too_long: { reason: "TooLarge" },
  invalid_scope: { reason: "ScopeDenied" },
  not_found: { reason: "UnexpectedResponse" },
  use_link_operation: { reason: "UnexpectedResponse" },
  use_unshared_operation: { reason: "UnexpectedResponse" },
  invalid_request: { reason: "UnexpectedResponse" },
  conflict: { reason: "UnexpectedResponse" },
  unsupported: { reason: "UnexpectedResponse" },
};

function transientText({ code, status, detail, text }: TransientError): string {
  const cause = detail === undefined ? "" : ` (${detail})`;
  switch (code) {
    case "unreachable":
      return `the vault cannot be reached${cause}: see the connection`;
    case "timeout":
      return "the vault did not respond in time: see the connection";
    case "reset":
      return `the vault closed the connection before its response was complete${cause}`;
    case "server_error":
      return `the vault responds with status ${status ?? 500}: see the log of the vault`;
    case "credentials_not_read":
      return `the API server did not return the credentials${cause}: check the API server`;
    case "circuit_open":
      return "several requests in a row failed, so none is sent until the vault can be listed: see the connection";
    case "no_memory":
      return "other responses, of vaults of this namespace or of many, take the memory for them";
    default:
      return text;
  }
}

function rejection(code: PermanentCode, text: string, isWrite: boolean): string {
  const known = rejections[code];
  return (
    (isWrite ? known.textOfWrite : undefined) ??
    known.text ??
    `the vault responds with the error "${text}"`
  );
}

/**
 * Returns the failure of a request for one entry of the vault: its reason, what to do, and when it
 * is tried again. The message contains no value, and no delay: it stays the same for all retries.
 */
export function entryFailure(error: VaultError, entry: string, isWrite = false): Failure {
  const message = (text: string): string => `${entry}: ${text}`;
  switch (error.kind) {
    case "transient":
      return error.code === "credentials_not_read"
        ? retryable("ConnectionNotReady", message(transientText(error)))
        : retryable("VaultUnreachable", message(transientText(error)), error.retryAfterMs);
    case "rate-limited":
      return retryable(
        "RateLimited",
        message("the vault throttles the operator"),
        error.retryAfterMs,
      );
    case "auth": {
      const text =
        error.code === "unusable" || error.code === "missing"
          ? error.text
          : "the vault rejects the account or its token: see the connection";
      return retryable("AuthFailed", message(text), error.retryAfterMs ?? SLOW_RETRY_MS);
    }
    case "unexpected-response": {
      const text = `the response of the vault cannot be read: ${error.field} is missing or malformed`;
      return retryable("UnexpectedResponse", message(text), SLOW_RETRY_MS);
    }
    case "refused":
      return retryable("ConnectionNotReady", message(error.text), SLOW_RETRY_MS);
    case "permanent": {
      const text = message(rejection(error.code, error.text, isWrite));
      return lasting(rejections[error.code].reason, text, waitFor("connection", PERMANENT_WAIT_MS));
    }
  }
}
