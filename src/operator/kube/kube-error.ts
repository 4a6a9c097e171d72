/**
 * What can go wrong at the API server, as a closed set.
 *
 * | kind | what it means | what helps |
 * |---|---|---|
 * | NotFound | the object is not there (said by a readable `Status`, never by a proxy's page) | create it, or let it go |
 * | AlreadyExists | a create found the name taken | read, decide whose it is |
 * | Conflict | another resourceVersion or uid, or another field manager's field | read again, decide again |
 * | Gone | the resourceVersion of a list or watch is too old | list again |
 * | Invalid | refused by validation or admission; see `causes` | another object |
 * | Forbidden | no right, or refused by admission | rights |
 * | QuotaExceeded | a ResourceQuota is used up | quota |
 * | NamespaceTerminating | nothing can be created there any more | stop |
 * | Unauthorized | the credentials are refused, also after they were loaded again | credentials |
 * | TooManyRequests | flow control, after the client's own repeats | later |
 * | TooLarge | the object is over a limit of the API server | a smaller object |
 * | Timeout | no answer in time; a write may have happened | later |
 * | Unavailable | no connection, a reset, or a 5xx; a write may have happened | later |
 * | NotLeader | the write was not sent: this process may not write (the lease's fence) | – |
 * | Unexpected | anything else: an unreadable answer, a redirect, a resource that is not served | look |
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
  | "NotLeader"
  | "Unexpected";

/** Which field was refused and why, e.g. `{ field: "data", reason: "FieldValueTooLong" }`. Never the refused value. */
export interface KubeErrorCause {
  readonly field: string;
  readonly reason: string;
}

export interface KubeErrorDetails {
  readonly kind: KubeErrorKind;
  /** What was tried, e.g. `create secrets team-a/db`. */
  readonly operation: string;
  /** HTTP status; absent when there was no answer. */
  readonly status?: number | undefined;
  /** `Status.reason` of the API server, or the code of the network error. Empty when there is none. */
  readonly reason?: string | undefined;
  readonly causes?: readonly KubeErrorCause[] | undefined;
  /** How long the server asks to wait, in milliseconds, clamped to 1 s … 10 min. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * The only error that calls of this room reject with (besides the reason of an aborted signal). Its message names the operation, the
 * kind and the code; it never holds the server's message or body, which can quote secret values (design: security, advisories of Argo CD).
 */
export class KubeError extends Error {
  readonly kind: KubeErrorKind;
  readonly operation: string;
  readonly status: number | undefined;
  readonly reason: string;
  readonly causes: readonly KubeErrorCause[];
  readonly retryAfterMs: number | undefined;

  constructor(details: KubeErrorDetails) {
    const codes = [details.status, details.reason].filter((code) => code !== undefined && code !== "").join(" ");
    super(`${details.operation}: ${details.kind}${codes === "" ? "" : ` (${codes})`}`);
    this.name = "KubeError";
    this.kind = details.kind;
    this.operation = details.operation;
    this.status = details.status;
    this.reason = details.reason ?? "";
    this.causes = details.causes ?? [];
    this.retryAfterMs = details.retryAfterMs;
  }

  /** True when the same call may well succeed later without anything else changing. */
  get transient(): boolean {
    return this.kind === "Timeout" || this.kind === "Unavailable" || this.kind === "TooManyRequests";
  }
}

/** True for a `KubeError` of one of `kinds`, or of any kind when none is named. */
export function isKubeError(error: unknown, ...kinds: readonly KubeErrorKind[]): error is KubeError {
  return error instanceof KubeError && (kinds.length === 0 || kinds.includes(error.kind));
}
