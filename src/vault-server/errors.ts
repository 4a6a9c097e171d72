import { errorStatus, type ErrorCode } from "../protocol/error-codes.ts";

export interface FaultDetail {
  readonly path: string;
  readonly reason: string;
}

/** An answer the contract names. `message` is for a person and never quotes what was sent. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  readonly details: readonly FaultDetail[] | undefined;
  /** Seconds, with `rate_limited` and `unavailable`. */
  readonly retryAfter: number | undefined;

  /** The account that is refused, where that is known: for the audit log alone. */
  readonly who: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    more: { details?: readonly FaultDetail[]; retryAfter?: number; who?: string } = {},
  ) {
    super(message);
    this.code = code;
    this.details = more.details;
    this.retryAfter = more.retryAfter;
    this.who = more.who;
  }

  get status(): number {
    return errorStatus[this.code];
  }
}

/** A body or header that does not fit. */
export function invalidRequest(path: string, reason: string): ServiceError {
  return new ServiceError("invalid_request", "the request does not fit", { details: [{ path, reason }] });
}
