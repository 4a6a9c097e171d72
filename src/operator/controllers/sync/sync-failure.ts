import type { Reason } from "../../api/reasons.ts";
import { isKubeError, type KubeError } from "../../kube/kube-error.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import type { PermanentCode, VaultError } from "../../vault-client/vault-error.ts";

/** What becomes of a failed attempt: a verdict that stands until something changes, or another try that leaves Ready as it is. */
export type SyncFailure =
  | { readonly kind: "final"; readonly readyCondition: ReadyCondition; readonly retryAfterMs: number | undefined }
  | { readonly kind: "retry"; readonly reason: Reason; readonly message: string; readonly retryAfterMs: number | undefined };

/** The attempt failed in a way that another one may mend; the queue waits at least `retryAfterMs`. */
export class RetryLaterError extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, retryAfterMs?: number) {
    super(reason);
    this.name = "RetryLaterError";
    this.retryAfterMs = retryAfterMs;
  }
}

/** Refusals that a person mends outside the operator's sight (a right, a quota) are tried again this seldom. */
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

/** A vault that lists an entry and then does not give it. The error's own text names no value. */
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

/** Which fields the API server names; it never says more, as its words may quote values. */
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

/** A refused write of a target; `undefined` when the same attempt is to be made again at once, or was not ours to make. */
export function writeFailure(error: unknown, resource: SyncResource): SyncFailure | undefined {
  if (!isKubeError(error)) return undefined;
  const what = `the ${resource.target.kind} ${resource.target.name}`;
  switch (error.kind) {
    case "Invalid":
      if (isTooLong(error))
        return finalFailure("TooLarge", `the API server rejected ${what} as too large: split the content over several targets`);
      return isImmutable(error)
        ? finalFailure("TargetImmutable", `${what} cannot be changed (${fields(error)}): delete it; the operator recreates it`)
        : finalFailure("TargetRejected", `the API server rejected ${what}: ${fields(error)}`, SLOW_RETRY_MS);
    case "TooLarge":
      return finalFailure("TooLarge", `the API server rejected ${what} as too large: split the content over several targets`);
    case "Forbidden":
      return finalFailure(
        "TargetForbidden",
        `permission denied: ${error.operation}; add it to the RBAC rules of the operator's ServiceAccount`,
        SLOW_RETRY_MS,
      );
    case "QuotaExceeded":
      return finalFailure(
        "QuotaExceeded",
        `a quota of the namespace ${resource.namespace} does not allow ${what}: raise the quota, or free some of it`,
        SLOW_RETRY_MS,
      );
    default:
      return undefined;
  }
}
