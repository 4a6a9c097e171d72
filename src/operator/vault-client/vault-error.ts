import type { Operation } from "../../protocol/operations.ts";

/**
 * The closed set of failures of a vault call, told apart by `kind` (design: engine, "Error classes"). A message is made of our own
 * words, the operation, codes and numbers: never of the server's text, a value, a name or a token.
 */
export type VaultError = TransientError | AuthError | RateLimitedError | PermanentError | UnexpectedResponse | RefusedError;
export type VaultErrorKind = VaultError["kind"];

class VaultFailure extends Error {
  readonly operation: Operation;

  constructor(operation: Operation, text: string) {
    super(`${operation}: ${text}`);
    this.name = new.target.name;
    this.operation = operation;
  }
}

/**
 * `unreachable`: no connection (refused, no route, no such host, no answer to connect). `timeout`: the call's deadline passed.
 * `reset`: the connection broke before the answer was whole. `server_error`: 5xx, 408 or 425. `circuit_open`: not tried, because
 * several calls in a row failed. `size_mismatch`, `digest_mismatch`: a download differs from what the list said.
 */
export type TransientCode =
  | "unreachable"
  | "timeout"
  | "reset"
  | "server_error"
  | "circuit_open"
  | "size_mismatch"
  | "digest_mismatch";

export interface TransientDetail {
  readonly status?: number | undefined;
  /** The system's own code, such as `ECONNREFUSED`. */
  readonly detail?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** May go away by itself: try again later, with a growing delay. */
export class TransientError extends VaultFailure {
  readonly kind = "transient";
  readonly code: TransientCode;
  readonly status: number | undefined;
  readonly detail: string | undefined;
  /** How long to wait at least, in milliseconds, where somebody said so. */
  readonly retryAfterMs: number | undefined;

  constructor(operation: Operation, code: TransientCode, { status, detail, retryAfterMs }: TransientDetail = {}) {
    super(operation, [code.replaceAll("_", " "), status, detail && `(${detail})`].filter(Boolean).join(" "));
    this.code = code;
    this.status = status;
    this.detail = detail;
    this.retryAfterMs = retryAfterMs;
  }
}

/** `credentials`: the log-in was refused. `token`: the access token, also a fresh one. `refresh_token`. `email_mismatch`. */
export type AuthCode = "credentials" | "token" | "refresh_token" | "email_mismatch";

/** The vault does not accept who we say we are. */
export class AuthError extends VaultFailure {
  readonly kind = "auth";
  readonly code: AuthCode;
  /** When set, no log-in is tried before this many milliseconds have passed, unless the credentials change. */
  readonly retryAfterMs: number | undefined;

  constructor(operation: Operation, code: AuthCode, retryAfterMs?: number) {
    super(operation, code === "email_mismatch" ? "the e-mail is not the token's owner" : `${code.replaceAll("_", " ")} refused`);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Too many requests; `retryAfterMs` is between 1 s and 10 min, whatever the vault said. */
export class RateLimitedError extends VaultFailure {
  readonly kind = "rate-limited";
  readonly retryAfterMs: number;

  constructor(operation: Operation, retryAfterMs: number) {
    super(operation, `too many requests, again in ${Math.ceil(retryAfterMs / 1000)} s`);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * The vault contract's codes that no repetition changes, and, where the answer holds no code we know: `not_found` (404, 410),
 * `forbidden` (403), `conflict` (409), `invalid_request` (400, 422) and `unsupported` (405, 415, any other 4xx).
 */
export type PermanentCode =
  | "secret_not_found"
  | "version_not_found"
  | "file_not_found"
  | "not_found"
  | "ambiguous_name"
  | "use_link_operation"
  | "use_unshared_operation"
  | "out_of_scope"
  | "forbidden"
  | "secret_expired"
  | "too_large"
  | "invalid_scope"
  | "invalid_request"
  | "conflict"
  | "unsupported";

/** Stays as it is until the request or the vault's content changes. `not_found` never means that something was deleted. */
export class PermanentError extends VaultFailure {
  readonly kind = "permanent";
  readonly code: PermanentCode;

  constructor(operation: Operation, code: PermanentCode) {
    super(operation, code.replaceAll("_", " "));
    this.code = code;
  }
}

/** An answer that cannot be understood. `field` is where it stopped making sense: our own name for it, an index, never content. */
export class UnexpectedResponse extends VaultFailure {
  readonly kind = "unexpected-response";
  readonly field: string;

  constructor(operation: Operation, field: string) {
    super(operation, `cannot read the answer: ${field} is missing or of an unexpected form`);
    this.field = field;
  }
}

/**
 * `address`: the host's address is one the policy forbids. `host`: not among the allowed hosts. `insecure`: plain HTTP. `url`: not a
 * base address. `redirect`: the vault pointed elsewhere. `tls`: the peer could not be verified. `ca`: the CA bundle is not one.
 */
export type RefusedCode = "address" | "host" | "insecure" | "url" | "redirect" | "tls" | "ca";

/** We declined for security; nothing secret was sent. */
export class RefusedError extends VaultFailure {
  readonly kind = "refused";
  readonly code: RefusedCode;
  /** The system's own code, such as `CERT_HAS_EXPIRED`. */
  readonly detail: string | undefined;

  constructor(operation: Operation, code: RefusedCode, detail?: string) {
    super(operation, `refused for security: ${code}${detail ? ` (${detail})` : ""}`);
    this.code = code;
    this.detail = detail;
  }
}

export function isVaultError(error: unknown): error is VaultError {
  return error instanceof VaultFailure;
}
