import { reasonText, refusalText } from "../text/refusal-words.ts";
import { isErrorResponse } from "./responses.ts";

interface FailureDetail {
  readonly path: string;
  readonly reason: string;
}

/**
 * A failed request: the error of the vault, or `unreachable`, `timed_out` or `invalid_response`
 * without a readable error.
 */
export class RequestError extends Error {
  override readonly name = "ServiceFailure";
  readonly code: string;
  /** HTTP status, 0 without a response. */
  readonly status: number;
  readonly details: readonly FailureDetail[];

  constructor(code: string, message: string, status = 0, details: readonly FailureDetail[] = []) {
    super(message);
    this.code = code;
    this.status = status;
    this.details = details;
  }

  /** Returns the reason for which one field of the request was rejected. */
  reason(path: string): string | undefined {
    return this.details.find((detail) => detail.path === path || detail.path.startsWith(`${path}.`))
      ?.reason;
  }
}

export const unreachable = (): RequestError =>
  new RequestError(
    "unreachable",
    "The vault cannot be reached. Check the connection and try again.",
  );

export const timedOut = (): RequestError =>
  new RequestError(
    "timed_out",
    "The vault has not responded for 30 seconds. Try again. A change may already be stored.",
  );

/**
 * Parses the error in a response's body, in the words of the pages. `retryAfter` is the header of
 * this name.
 */
export function errorFromBody(
  status: number,
  text: string,
  retryAfter?: string | null,
): RequestError {
  const seconds = Number(retryAfter ?? Number.NaN);
  try {
    const body: unknown = JSON.parse(text);
    if (isErrorResponse(body)) {
      const { code, details = [] } = body.error;
      const words = refusalText({
        ...body.error,
        retryAfter: Number.isInteger(seconds) ? seconds : undefined,
      });
      return new RequestError(
        code,
        words,
        status,
        details.map(({ path, reason }) => ({ path, reason: reasonText(reason) })),
      );
    }
  } catch {
    // Not JSON: for example, the error page of a proxy.
  }
  return new RequestError(
    "invalid_response",
    `The vault responded with status ${status} and no readable error.`,
    status,
  );
}

/** Wraps any other error as `unexpected`. */
export function toRequestError(error: unknown): RequestError {
  return error instanceof RequestError
    ? error
    : new RequestError("unexpected", "Something went wrong on this page. Reload it and try again.");
}
