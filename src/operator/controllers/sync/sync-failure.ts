import type { Reason } from "../../api/reasons.ts";
import { isKubeError, type KubeError } from "../../kube/kube-error.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import type { PermanentCode, VaultError } from "../../vault-client/vault-error.ts";

/** Result of a failed reconcile: a Ready condition that lasts until something changes, or a retry that leaves Ready unchanged. */
export type SyncFailure =
  | { readonly kind: "final"; readonly readyCondition: ReadyCondition; readonly retryAfterMs: number | undefined }
  | { readonly kind: "retry"; readonly reason: Reason; readonly message: string; readonly retryAfterMs: number | undefined };

/** The reconcile failed in a way that a retry may resolve. The queue waits for at least `retryAfterMs`. */
export class RetryLaterError extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, retryAfterMs?: number) {
    super(reason);
    this.name = "RetryLaterError";
    this.retryAfterMs = retryAfterMs;
  }
}

/** Retry interval in milliseconds for failures whose fix the operator cannot observe, such as a permission or a quota. */
const SLOW_RETRY_MS = 60_000;
const FIRST_RETRY_MS = 1_000;

const permanentReason: Readonly<Record<PermanentCode, Reason>> = {
  secret_not_found: "SourceMissing",
  file_not_found: "SourceMissing",
  not_found: "UnexpectedResponse",
  version_not_found: "VersionNotFound",
  ambiguous_name: "AmbiguousName",
  use_link_operation: "UnexpectedResponse",
  use_unshared_operation: "UnexpectedResponse",
  out_of_scope: "ScopeDenied",
  forbidden: "ScopeDenied",
  secret_expired: "Expired",
  too_large: "TooLarge",
  invalid_scope: "ScopeDenied",
  invalid_request: "UnexpectedResponse",
  conflict: "UnexpectedResponse",
  unsupported: "UnexpectedResponse",
};

/** Maps an error of the vault while reading an entry. The text of the error contains no value. */
export function vaultFailure(error: VaultError, source: string): SyncFailure {
  const message = `${source}: ${error.message}`;
  switch (error.kind) {
    case "transient":
      return { kind: "retry", reason: "VaultUnreachable", message, retryAfterMs: error.retryAfterMs ?? FIRST_RETRY_MS };
    case "rate-limited":
      return { kind: "retry", reason: "RateLimited", message, retryAfterMs: error.retryAfterMs };
    case "auth":
      return { kind: "retry", reason: "AuthFailed", message, retryAfterMs: error.retryAfterMs ?? SLOW_RETRY_MS };
    case "unexpected-response":
      return { kind: "retry", reason: "UnexpectedResponse", message, retryAfterMs: SLOW_RETRY_MS };
    case "refused":
      return { kind: "retry", reason: "ConnectionNotReady", message, retryAfterMs: SLOW_RETRY_MS };
    case "permanent":
      return { kind: "final", readyCondition: notReady(permanentReason[error.code], message), retryAfterMs: SLOW_RETRY_MS };
  }
}

/**
 * Returns the fields that the API server names, and nothing else: its messages may quote values. See
 * docs/design/security.md#api-server-messages.
 */
function fields(error: KubeError): string {
  return error.causes.map(({ field, reason }) => `${field} (${reason})`).join(", ") || error.reason || error.kind;
}

const isTooLong = (error: KubeError): boolean =>
  error.causes.some(({ field, reason }) => field.startsWith("data") && reason === "FieldValueTooLong");

const isImmutable = (error: KubeError): boolean =>
  error.causes.some(({ field }) => ["type", "data", "binaryData", "immutable"].includes(field.split(".")[0] ?? ""));

function finalFailure(reason: Reason, message: string, retryAfterMs?: number): SyncFailure {
  return { kind: "final", readyCondition: notReady(reason, message), retryAfterMs };
}

/** Maps an error of the API server while writing a target; `undefined` if the caller has to handle it. */
export function writeFailure(error: unknown, resource: SyncResource): SyncFailure | undefined {
  if (!isKubeError(error)) return undefined;
  const target = `the ${resource.target.kind} ${resource.target.name}`;
  switch (error.kind) {
    case "Invalid":
      if (isTooLong(error))
        return finalFailure("TooLarge", `the API server rejected ${target} as too large: split the content over several targets`);
      return isImmutable(error)
        ? finalFailure("TargetImmutable", `${target} cannot be changed (${fields(error)}): delete it; the operator recreates it`)
        : finalFailure("TargetRejected", `the API server rejected ${target}: ${fields(error)}`, SLOW_RETRY_MS);
    case "TooLarge":
      return finalFailure("TooLarge", `the API server rejected ${target} as too large: split the content over several targets`);
    case "Forbidden":
      return finalFailure(
        "TargetForbidden",
        `permission denied: ${error.operation}; add it to the RBAC rules of the operator's ServiceAccount`,
        SLOW_RETRY_MS,
      );
    case "QuotaExceeded":
      return finalFailure(
        "QuotaExceeded",
        `a quota of the namespace ${resource.namespace} does not allow ${target}: raise the quota, or free some of it`,
        SLOW_RETRY_MS,
      );
    default:
      return undefined;
  }
}
