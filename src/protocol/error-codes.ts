interface ErrorCodeInfo {
  readonly status: number;
  /** When the vault responds with it. */
  readonly meaning: string;
  /** Advice to the caller. */
  readonly remedy: string;
}

/** Every error code of the vault. */
export const errorCodes = {
  invalid_request: {
    status: 400,
    meaning:
      "The body or a header is invalid; `details` lists path and reason. With 408 or 431: too slow, or headers over 16 KiB.",
    remedy: "Fix the fields that `details` names.",
  },
  invalid_scope: {
    status: 400,
    meaning: "The scope string is malformed or incomplete.",
    remedy: "Name each of the five attributes.",
  },
  invalid_credentials: {
    status: 401,
    meaning: "Wrong password, no such account, or an identity that may not use it.",
    remedy: "Check email and password, or the identity.",
  },
  invalid_token: {
    status: 401,
    meaning:
      "The access token is missing, unknown, expired or sent with a scheme word, or the session has ended.",
    remedy: "Refresh the token or log in; send it without `Bearer`.",
  },
  invalid_refresh_token: {
    status: 401,
    meaning: "The refresh token is unknown, expired or belongs to another access token.",
    remedy: "Log in.",
  },
  invalid_confirmation: {
    status: 401,
    meaning: "The link of the email is invalid, expired or already used.",
    remedy: "Request a new email.",
  },
  out_of_scope: {
    status: 403,
    meaning:
      "The token's scope does not admit the secret's metadata or name, or is limited and the request is about teams, tokens or blocked " +
      "senders.",
    remedy: "Use a token with a wider scope.",
  },
  forbidden: {
    status: 403,
    meaning: "The caller lacks the permission, or is not the creator.",
    remedy: "Ask the creator to grant the permission or to make the change.",
  },
  email_mismatch: {
    status: 403,
    meaning: "`email` or `usr_id_from` is not the owner of the token or session.",
    remedy: "Send the address that the token was issued for.",
  },
  csrf_failed: {
    status: 403,
    meaning:
      "A request with a session cookie comes from another origin or without its `x-csrf-token`.",
    remedy: "Open the web application at its configured address and reload it.",
  },
  secret_expired: {
    status: 403,
    meaning: "The version has expired and the server denies expired values.",
    remedy: "Create a new version, or raise `expiration_time`.",
  },
  quota_exceeded: {
    status: 403,
    meaning:
      "The account, or the account that owns the secret, has as much as its quota allows; nothing was stored.",
    remedy:
      "Delete versions, secrets, files, tokens or teams, or ask the operator of the server for a higher quota.",
  },
  not_found: {
    status: 404,
    meaning: "No such path, or an optional operation that the server does not offer.",
    remedy: "Check the path.",
  },
  secret_not_found: {
    status: 404,
    meaning: "The secret does not exist or is not visible to the caller.",
    remedy: "Check the name, and whether the secret is still shared with the caller.",
  },
  version_not_found: {
    status: 404,
    meaning: "The version does not exist.",
    remedy: "List the versions.",
  },
  file_not_found: {
    status: 404,
    meaning: "The caller has no file of this name.",
    remedy: "List the files.",
  },
  trash_entry_not_found: {
    status: 404,
    meaning: "The caller's trash has no entry with this id.",
    remedy: "List the trash: the entry may have been restored, or removed at its end.",
  },
  team_not_found: {
    status: 404,
    meaning: "The team does not exist, or the caller is not a member.",
    remedy: "List the teams.",
  },
  token_not_found: {
    status: 404,
    meaning: "The caller has no token or session with this id.",
    remedy: "List the tokens: it may have ended.",
  },
  method_not_allowed: {
    status: 405,
    meaning: "Wrong HTTP method; `allow` names the right ones.",
    remedy: "Send POST to operations, GET or HEAD to pages.",
  },
  use_link_operation: {
    status: 409,
    meaning: "The name is a shared or a received secret.",
    remedy: "Use the `_link` operation.",
  },
  use_unshared_operation: {
    status: 409,
    meaning: "The name is the caller's own secret and not shared.",
    remedy: "Use the operation without `_link`.",
  },
  ambiguous_name: {
    status: 409,
    meaning: "Several secrets have this name.",
    remedy: "Send `owner`.",
  },
  version_changed: {
    status: 409,
    meaning: "The latest version is not `expected_version`; nothing was changed.",
    remedy: "List the versions, and send the change again if it still applies.",
  },
  invitation_required: {
    status: 409,
    meaning:
      "A recipient or member has no account or is not logged in, and the request has `invite: false`; nothing was changed.",
    remedy: "Check the addresses in `details`, then send the request without `invite`.",
  },
  name_taken: {
    status: 409,
    meaning: "The caller has another secret or file of the wanted name; nothing was changed.",
    remedy: "Choose another name.",
  },
  last_version: {
    status: 409,
    meaning: "The only version of a secret cannot be deleted.",
    remedy: "Delete the secret, or create another version first.",
  },
  team_exists: {
    status: 409,
    meaning: "The team's name, or one that looks like it, is taken on this server.",
    remedy: "Choose another name.",
  },
  too_large: {
    status: 413,
    meaning: "The body, a value, the metadata of a version or a file exceeds the server's limit.",
    remedy: "Send less; `GET /v1/openapi.json` states the limits.",
  },
  unsupported_media_type: {
    status: 415,
    meaning: "Another content type, or a compressed body.",
    remedy: "Send `application/json` (`multipart/form-data` to `protect_file`), uncompressed.",
  },
  misdirected_request: {
    status: 421,
    meaning: "The host of the request is not one that the server serves.",
    remedy:
      "Use the server's address or the URL of its web application, or add the host to `--allowed-hosts`.",
  },
  rate_limited: {
    status: 429,
    meaning: "Too many requests of one token, too many logins or too many emails.",
    remedy: "Wait for `retry-after` seconds.",
  },
  internal: {
    status: 500,
    meaning: "The server failed.",
    remedy: "Find `x-request-id` in the server's log.",
  },
  unavailable: {
    status: 503,
    meaning:
      "The store cannot be reached or is too busy, the audit log cannot be written, or the disk is low on space and the request adds data.",
    remedy: "Retry after `retry-after` seconds; check the store and the disk, or delete data.",
  },
} as const satisfies Readonly<Record<string, ErrorCodeInfo>>;

export type ErrorCode = keyof typeof errorCodes;
