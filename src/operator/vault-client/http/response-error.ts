import { errorCodes, type ErrorCode } from "../../../protocol/error-codes.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import {
  AuthError,
  PermanentError,
  RateLimitedError,
  RefusedError,
  TransientError,
  UnexpectedResponse,
  type PermanentCode,
  type VaultError,
} from "../vault-error.ts";
import { isObject } from "../../../lib/is-object.ts";
import { parseJson } from "./parse-json.ts";
import { MIN_RETRY_AFTER_MS, retryAfterMs } from "../../lib/retry-after.ts";
import type { VaultResponse } from "./vault-transport.ts";

const permanentCodes: Partial<Record<ErrorCode, PermanentCode>> = {
  secret_not_found: "secret_not_found",
  version_not_found: "version_not_found",
  file_not_found: "file_not_found",
  not_found: "not_found",
  ambiguous_name: "ambiguous_name",
  use_link_operation: "use_link_operation",
  use_unshared_operation: "use_unshared_operation",
  out_of_scope: "out_of_scope",
  forbidden: "forbidden",
  secret_expired: "secret_expired",
  too_large: "too_large",
  quota_exceeded: "quota_exceeded",
  invalid_scope: "invalid_scope",
  invalid_request: "invalid_request",
};

const permanentStatuses: Record<number, PermanentCode> = {
  400: "invalid_request",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  410: "not_found",
  413: "too_large",
  422: "invalid_request",
};

function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(errorCodes, value);
}

/**
 * Returns the contract's code in an error body, with or without the envelope. Ignores everything
 * else.
 */
function errorCode(body: unknown): ErrorCode | undefined {
  if (!isObject(body)) return undefined;
  const inner = isObject(body.error) ? body.error.code : body.error;
  return [inner, body.code].find(isErrorCode);
}

/** The credentials that a vault rejects with a login or a refresh; other operations have a token. */
const loginErrors: Partial<Record<Operation, AuthError["code"]>> = {
  generate_access_token: "credentials",
  exchange_identity_token: "identity",
  refresh_token: "refresh_token",
};

const rejections: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  "invalid_credentials",
  "invalid_token",
  "invalid_refresh_token",
]);

/** A vault without our codes may reject a login or a refresh with any of these. */
const unnamedRejections: ReadonlySet<number> = new Set([400, 403, 404, 422, 423]);

function authError(
  operation: Operation,
  status: number,
  code: ErrorCode | undefined,
): AuthError | undefined {
  if (code === "email_mismatch") return new AuthError(operation, "email_mismatch");
  if (status === 401 || rejections.has(code))
    return new AuthError(operation, loginErrors[operation] ?? "token");
  // A vault without this operation has not judged the identity.
  const isUnknown = operation === "exchange_identity_token" && status === 404;
  const login =
    code === undefined && !isUnknown && unnamedRejections.has(status) && loginErrors[operation];
  return login ? new AuthError(operation, login) : undefined;
}

/** Returns the error that the status alone says, whatever the body has. */
function statusError(
  operation: Operation,
  response: VaultResponse,
  now: number,
): VaultError | undefined {
  const { status } = response;
  const wait = retryAfterMs(response.header("retry-after"), now);
  if (status === 429) return new RateLimitedError(operation, wait ?? MIN_RETRY_AFTER_MS);
  if (status >= 500 || status === 408 || status === 425)
    return new TransientError(operation, "server_error", { status, retryAfterMs: wait });
  if (status === 304) return new UnexpectedResponse(operation, "body");
  return status < 400 ? new RefusedError(operation, "redirect") : undefined;
}

/**
 * Maps an unsuccessful response to an error: by status, refined by the contract's code if the body
 * has one. A "not found" or a rejected login without JSON comes from a proxy: it is an unexpected
 * response.
 * @param now wall-clock time
 */
export function responseError(
  operation: Operation,
  response: VaultResponse,
  now: number,
): VaultError {
  const { status } = response;
  const error = statusError(operation, response, now);
  if (error) return error;
  const body = parseJson(response.body);
  const code = errorCode(body);
  const mayBeFromProxy = status === 404 || status === 410 || loginErrors[operation] !== undefined;
  if (mayBeFromProxy && !isObject(body)) return new UnexpectedResponse(operation, "error.code");
  const auth = authError(operation, status, code);
  if (auth) return auth;
  const permanent = (code && permanentCodes[code]) ?? permanentStatuses[status] ?? "unsupported";
  return new PermanentError(operation, permanent);
}
