import type { Operation } from "../../protocol/operation-paths.ts";

/**
 * The closed set of failures of a vault request, discriminated by `kind`
 * (docs/design/engine.md#vault-failures). A message consists of fixed words, the operation, codes
 * and numbers: never of the server's text, a value, a name or a token.
 */
export type VaultError =
  | TransientError
  | AuthError
  | RateLimitedError
  | PermanentError
  | UnexpectedResponse
  | RefusedError;
export type VaultErrorKind = VaultError["kind"];

class VaultErrorBase extends Error {
  readonly operation: Operation;
  /** The message without the operation. */
  readonly text: string;

  constructor(operation: Operation, text: string) {
    super(`${operation}: ${text}`);
    this.name = new.target.name;
    this.operation = operation;
    this.text = text;
  }
}

/**
 * `unreachable`: no connection (refused, no route, unknown host, connect timeout). `timeout`: the
 * deadline of the request passed. `reset`: the connection broke before the response was complete.
 * `server_error`: 5xx, 408 or 425. `circuit_open`: not sent, because several requests in a row
 * failed. `size_mismatch`, `digest_mismatch`: a download differs from its listed size or digest.
 * `credentials_not_read`: the store of the credentials failed, so nothing was sent. `not_leader`:
 * the write was not sent, because this process did not renew its Lease in time. `no_memory`: others
 * used the memory for responses, so this one was not read.
 */
export type TransientCode =
  | "unreachable"
  | "timeout"
  | "reset"
  | "server_error"
  | "circuit_open"
  | "size_mismatch"
  | "digest_mismatch"
  | "credentials_not_read"
  | "not_leader"
  | "no_memory";

export interface TransientDetail {
  readonly status?: number | undefined;
  /** System code, e.g. `ECONNREFUSED`. */
  readonly detail?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** May resolve by itself: retry with backoff. */
export class TransientError extends VaultErrorBase {
  readonly kind = "transient";
  readonly code: TransientCode;
  readonly status: number | undefined;
  readonly detail: string | undefined;
  /** Minimum time in ms before the next attempt, if the vault or the circuit breaker gave one. */
  readonly retryAfterMs: number | undefined;

  constructor(
    operation: Operation,
    code: TransientCode,
    { status, detail, retryAfterMs }: TransientDetail = {},
  ) {
    super(
      operation,
      [code.replaceAll("_", " "), status, detail && `(${detail})`].filter(Boolean).join(" "),
    );
    this.code = code;
    this.status = status;
    this.detail = detail;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * The part that the vault rejected: the `credentials` at login, the `identity` of a workload, the
 * access `token` (also a fresh one), the `refresh_token`, or the email. `missing`: the credentials
 * do not exist yet. `unusable`: the credentials were not sent. `too_many_rejected`: they were not
 * sent, because the vault rejected too many others of the account.
 */
export type AuthCode =
  | "credentials"
  | "identity"
  | "token"
  | "refresh_token"
  | "email_mismatch"
  | "missing"
  | "unusable"
  | "too_many_rejected";

const authText: Readonly<Record<AuthCode, string>> = {
  credentials: "credentials rejected: check the email and the password of the account",
  identity: "identity rejected: the vault has to know it for this account",
  token: "token rejected",
  refresh_token: "refresh token rejected",
  email_mismatch: "the email is not that of the token's owner",
  missing: "the credentials do not exist",
  unusable: "the credentials cannot be used",
  too_many_rejected: "not sent: the vault rejected too many other credentials of this account",
};

/** The vault rejected our identity. */
export class AuthError extends VaultErrorBase {
  readonly kind = "auth";
  readonly code: AuthCode;
  /** Time in ms until the next login attempt, if one is delayed. New credentials end the delay. */
  readonly retryAfterMs: number | undefined;

  constructor(operation: Operation, code: AuthCode, retryAfterMs?: number, text = authText[code]) {
    super(operation, text);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The stored credentials cannot or must not be used. Nothing was sent. */
export class CredentialsError extends AuthError {
  /** @param text says what is wrong and how to fix it */
  constructor(text: string) {
    super("generate_access_token", "unusable", undefined, text);
  }
}

/** The credentials do not exist: another user or program may create them next. Nothing was sent. */
export class MissingCredentialsError extends AuthError {
  /** @param text says what is missing and how to create it */
  constructor(text: string) {
    super("generate_access_token", "missing", undefined, text);
  }
}

/** Too many requests. `retryAfterMs` is clamped to 1 s … 10 min. */
export class RateLimitedError extends VaultErrorBase {
  readonly kind = "rate-limited";
  readonly retryAfterMs: number;

  constructor(operation: Operation, retryAfterMs: number) {
    super(operation, `too many requests, retry after ${Math.ceil(retryAfterMs / 1000)} s`);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * The codes of the contract that a retry does not change. A response without a known code maps to
 * `not_found` (404, 410), `forbidden` (403), `conflict` (409), `invalid_request` (400, 422) or
 * `unsupported` (405, 415, any other 4xx).
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
  | "list_too_long"
  | "quota_exceeded"
  | "invalid_scope"
  | "invalid_request"
  | "conflict"
  | "unsupported";

/**
 * Fails until the request or the content of the vault changes. `not_found` never means that
 * something was deleted.
 */
export class PermanentError extends VaultErrorBase {
  readonly kind = "permanent";
  readonly code: PermanentCode;

  constructor(operation: Operation, code: PermanentCode) {
    super(operation, code.replaceAll("_", " "));
    this.code = code;
  }
}

/** Time in ms after which a list that is too long is requested again. */
const LONG_LIST_RETRY_MS = 300_000;

/** A list of more than the operator reads. Nothing is known about its entries. */
export class ListTooLongError extends PermanentError {
  /**
   * Names what it has too much of, and the flag that decides that: "more than 1048576 bytes
   * (--max-list-bytes)".
   */
  readonly excess: string;
  /** Minimum time in ms before the next request for it. */
  readonly retryAfterMs = LONG_LIST_RETRY_MS;

  constructor(operation: Operation, excess: string) {
    super(operation, "list_too_long");
    this.excess = excess;
  }
}

/**
 * Returns the failure of a request whose successful response is longer than `maxBytes`: of a
 * download, than its listed size.
 */
export function tooLong(operation: Operation, maxBytes: number): VaultError {
  if (operation === "download_file") return new TransientError(operation, "size_mismatch");
  const isList = operation === "list_no_dup" || operation === "list_file";
  if (!isList) return new PermanentError(operation, "too_large");
  return new ListTooLongError(operation, `more than ${maxBytes} bytes (--max-list-bytes)`);
}

/**
 * A response that cannot be parsed. `field` is the first unreadable field: our own name for it or
 * an index, never content.
 */
export class UnexpectedResponse extends VaultErrorBase {
  readonly kind = "unexpected-response";
  readonly field: string;

  constructor(operation: Operation, field: string) {
    super(operation, `cannot read the response: ${field} is missing or malformed`);
    this.field = field;
  }
}

/**
 * `address`: the policy forbids the address of the host. `host`: not an allowed host. `insecure`:
 * plain HTTP. `url`: not a base address. `redirect`: the vault responded with a redirect. `tls`:
 * the peer was not verified. `ca`: the CA bundle is invalid.
 */
export type RefusedCode = "address" | "host" | "insecure" | "url" | "redirect" | "tls" | "ca";

const refusalText: Readonly<Record<RefusedCode, string>> = {
  address:
    "the host has an address that is never allowed, or a loopback address, which requires --allow-http",
  host: "the host is not in --vault-hosts; add it there, or use an allowed host",
  insecure: "plain http requires --allow-http; use https",
  url: "expected a base URL without user, query and fragment, for example https://vault.example.com",
  redirect: "the vault redirects; set the URL to the final address",
  tls: "the server certificate could not be verified",
  ca: "the CA bundle contains no readable certificate",
};

/** The client refused the connection for security. Nothing secret was sent. */
export class RefusedError extends VaultErrorBase {
  readonly kind = "refused";
  readonly code: RefusedCode;
  /** System code, e.g. `CERT_HAS_EXPIRED`; for the code `address`, the refused address. */
  readonly detail: string | undefined;

  constructor(operation: Operation, code: RefusedCode, detail?: string) {
    super(
      operation,
      `refused (${detail === undefined ? code : `${code}, ${detail}`}): ${refusalText[code]}`,
    );
    this.code = code;
    this.detail = detail;
  }
}

/** Failures of requests that were not sent. */
const NOT_SENT: ReadonlySet<TransientCode> = new Set([
  "circuit_open",
  "credentials_not_read",
  "not_leader",
]);

/** Reports whether a write that failed with this error may have been stored nevertheless. */
export function mayHaveHappened(error: unknown): boolean {
  if (!isVaultError(error)) return true;
  if (error.kind === "transient") return !NOT_SENT.has(error.code);
  return error.kind === "unexpected-response";
}

/** Reports whether `error` is one of the classes of {@link VaultError}. */
export function isVaultError(error: unknown): error is VaultError {
  return error instanceof VaultErrorBase;
}
