import { isErrorResponse } from "./responses.ts";

interface FailureDetail {
  readonly path: string;
  readonly reason: string;
}

/** A call that did not succeed: the service's own error, or `unreachable` / `invalid_response` when there was none to read. */
export class RequestError extends Error {
  override readonly name = "ServiceFailure";
  readonly code: string;
  /** 0 when there was no answer. */
  readonly status: number;
  readonly details: readonly FailureDetail[];

  constructor(code: string, message: string, status = 0, details: readonly FailureDetail[] = []) {
    super(message);
    this.code = code;
    this.status = status;
    this.details = details;
  }

  /** What was wrong with one member of the request. */
  reason(path: string): string | undefined {
    return this.details.find((detail) => detail.path === path || detail.path.startsWith(`${path}.`))?.reason;
  }
}

export const unreachable = (): RequestError =>
  new RequestError("unreachable", "The vault cannot be reached. Check the connection and try again.");

/** The failure that an answer's status and body tell of. */
export function errorFromBody(status: number, text: string): RequestError {
  try {
    const body: unknown = JSON.parse(text);
    if (isErrorResponse(body)) {
      const { code, message, details } = body.error;
      return new RequestError(code, sentence(message), status, details);
    }
  } catch {
    // Not JSON: a proxy's page, for one.
  }
  return new RequestError("invalid_response", `The vault responded with status ${status} and no readable error.`, status);
}

export function toRequestError(error: unknown): RequestError {
  return error instanceof RequestError
    ? error
    : new RequestError("unexpected", "Something went wrong on this page. Reload it and try again.");
}

/** The service writes its messages without a capital and a full stop. */
function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/u.test(text) ? text : `${text}.`;
}
