import { ApiError } from "../lib/api-error.ts";

/**
 * The failures of requests to the API server, as a closed set.
 *
 * | kind | meaning | remedy |
 * |---|---|---|
 * | NotFound | the object does not exist (according to a readable `Status`, never to a proxy's page) | create it, or do without |
 * | AlreadyExists | a create found the name taken | read it, decide on its owner |
 * | Conflict | another resourceVersion or uid, or a field of another field manager | read and decide again |
 * | Gone | the resourceVersion of a list or watch is too old | list again |
 * | Invalid | rejected by validation or admission; see `causes` | send another object |
 * | Forbidden | denied by RBAC or admission | grant permissions |
 * | QuotaExceeded | a ResourceQuota is exhausted | raise the quota |
 * | NamespaceTerminating | the namespace accepts no new objects | stop |
 * | Unauthorized | the credentials are rejected, also after they were loaded again | replace the credentials |
 * | TooManyRequests | flow control, after the client's own retries | retry later |
 * | TooLarge | the object exceeds a limit of the API server | send a smaller object |
 * | Timeout | no response in time; a write may have happened | retry later |
 * | Unavailable | no connection, a reset, or a 5xx; a write may have happened | retry later |
 * | NotServed | the API server does not serve the resource (not a proxy's page): its CRD is not installed | install it |
 * | NotLeader | the write was not sent, because this process did not renew the lease in time | retry: it ends, or renews the lease |
 * | Unexpected | anything else: an unreadable response, a redirect, a proxy's page | investigate |
 */
export type KubeErrorKind =
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Invalid"
  | "Forbidden"
  | "QuotaExceeded"
  | "NamespaceTerminating"
  | "Unauthorized"
  | "TooManyRequests"
  | "TooLarge"
  | "Timeout"
  | "Unavailable"
  | "NotServed"
  | "NotLeader"
  | "Unexpected";

/**
 * Reason of `Forbidden` for an owner reference that needs the permission to update the finalizers
 * of the owner.
 */
export const OWNER_DENIED = "OwnerDenied";

/**
 * Reason of `Forbidden` for an owner of a kind that the API server's admission has not noticed yet:
 * it looks every 30 s.
 */
export const OWNER_UNKNOWN = "OwnerUnknown";

/**
 * A rejected field and the reason, e.g. `{ field: "data", reason: "FieldValueTooLong" }`; never the
 * rejected value.
 */
export interface KubeErrorCause {
  readonly field: string;
  readonly reason: string;
  /** The field manager that owns the field, for the reason `FieldManagerConflict`. */
  readonly manager?: string | undefined;
}

export interface KubeErrorDetails {
  readonly kind: KubeErrorKind;
  /** The attempted operation, e.g. `create secrets team-a/db`. */
  readonly operation: string;
  /** HTTP status; absent without a response. */
  readonly status?: number | undefined;
  /** `Status.reason` of the API server, or the code of the network error. */
  readonly reason?: string | undefined;
  readonly causes?: readonly KubeErrorCause[] | undefined;
  /** The policy or the webhook that denied the request, as in "the admission webhook x.example.com". */
  readonly deniedBy?: string | undefined;
  /**
   * The server's words about a request that only reads and that it denied; at most 300 characters.
   */
  readonly explanation?: string | undefined;
  /** Delay that the server asks for, in milliseconds, clamped to 1 s … 10 min. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * The only error that this package rejects with, apart from the reason of an aborted signal. Its
 * message names the operation, the kind and the code. The message never contains the server's
 * message or body, because both can quote secret values. Only a denied read has the server's
 * `explanation` (docs/design/security.md#api-server-messages).
 */
export class KubeError extends ApiError {
  readonly kind: KubeErrorKind;
  readonly operation: string;
  readonly status: number | undefined;
  readonly reason: string;
  readonly causes: readonly KubeErrorCause[];
  readonly deniedBy: string | undefined;
  readonly explanation: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(details: KubeErrorDetails) {
    const codes = [details.status, details.reason]
      .filter((code) => code !== undefined && code !== "")
      .join(" ");
    super(`${details.operation}: ${details.kind}${codes === "" ? "" : ` (${codes})`}`);
    this.name = "KubeError";
    this.kind = details.kind;
    this.operation = details.operation;
    this.status = details.status;
    this.reason = details.reason ?? "";
    this.causes = details.causes ?? [];
    this.deniedBy = details.deniedBy;
    this.explanation = details.explanation;
    this.retryAfterMs = details.retryAfterMs;
  }

  /** Reports whether the same request can succeed later without any other change. */
  get transient(): boolean {
    return (
      this.kind === "Timeout" || this.kind === "Unavailable" || this.kind === "TooManyRequests"
    );
  }
}

/**
 * Reports whether `error` is a `KubeError` of one of `kinds`, or of any kind when none is given.
 */
export function isKubeError(
  error: unknown,
  ...kinds: readonly KubeErrorKind[]
): error is KubeError {
  return error instanceof KubeError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** Returns the message for a request that the API server denied, such as `get secrets shop/db`. */
export const permissionDenied = (request: string): string =>
  `permission denied: ${request}; add it to the RBAC rules of the operator's ServiceAccount`;

/** Resolves to `undefined` if the API server does not find the object of this request. */
export async function ifFound<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}
