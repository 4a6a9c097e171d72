import type { ErrorCode } from "../../../../src/protocol/error-codes.ts";

/**
 * The status of each error code that the in-memory vault responds with
 * (docs/design/vault-contract.md).
 */
const statuses = {
  invalid_request: 400,
  invalid_scope: 400,
  invalid_credentials: 401,
  invalid_token: 401,
  invalid_refresh_token: 401,
  out_of_scope: 403,
  forbidden: 403,
  email_mismatch: 403,
  not_found: 404,
  secret_not_found: 404,
  version_not_found: 404,
  file_not_found: 404,
  use_link_operation: 409,
  use_unshared_operation: 409,
  ambiguous_name: 409,
  last_version: 409,
  rate_limited: 429,
} as const satisfies Partial<Record<ErrorCode, number>>;

export type RejectionCode = keyof typeof statuses;

/** A request that the vault rejects. */
export class Rejection extends Error {
  readonly status: number;
  readonly code: RejectionCode;

  constructor(code: RejectionCode) {
    super(code);
    this.code = code;
    this.status = statuses[code];
  }
}

export const rejected = (code: RejectionCode): Rejection => new Rejection(code);
