/** Status of every error code a vault answers with. Source: the vault contract, "Transport" and "Fine print". */
export const errorStatus = {
  invalid_request: 400,
  invalid_scope: 400,
  invalid_credentials: 401,
  invalid_token: 401,
  invalid_refresh_token: 401,
  out_of_scope: 403,
  forbidden: 403,
  email_mismatch: 403,
  secret_expired: 403,
  not_found: 404,
  secret_not_found: 404,
  version_not_found: 404,
  file_not_found: 404,
  team_not_found: 404,
  method_not_allowed: 405,
  use_link_operation: 409,
  use_unshared_operation: 409,
  ambiguous_name: 409,
  last_version: 409,
  team_exists: 409,
  too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal: 500,
} as const;

export type ErrorCode = keyof typeof errorStatus;
