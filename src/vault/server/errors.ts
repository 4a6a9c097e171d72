import { quotaTexts, type QuotaName } from "./limits.ts";
import { errorCodes, type ErrorCode } from "../../protocol/error-codes.ts";

/** One thing that is wrong in a request. */
export interface ErrorDetail {
  readonly path: string;
  readonly reason: string;
}

interface ErrorExtras {
  readonly details?: readonly ErrorDetail[];
  /** Milliseconds. */
  readonly retryAfterMs?: number;
  readonly user?: string | undefined;
  readonly quota?: QuotaName;
  readonly denied?: DeniedToken | undefined;
}

/** A valid token that was used from a network that it is not for. */
export interface DeniedToken {
  readonly user: string;
  /** As `token_list` names it. */
  readonly token: string;
}

/** An error response of the protocol. `message` is for users and never quotes what was sent. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[] | undefined;
  /** Whole seconds, at least 1; set for `rate_limited` and `unavailable`. */
  readonly retryAfter: number | undefined;
  /** The rejected caller's email where it is known; written to the audit log only. */
  readonly user: string | undefined;
  /** Set for `quota_exceeded`; counted in a metric only. */
  readonly quota: QuotaName | undefined;
  /** Written to the audit log only: the response is the same as for an unknown token. */
  readonly denied: DeniedToken | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    { details, retryAfterMs, user, quota, denied }: ErrorExtras = {},
  ) {
    super(message);
    this.code = code;
    this.details = details;
    this.retryAfter =
      retryAfterMs === undefined ? undefined : Math.max(1, Math.ceil(retryAfterMs / 1000));
    this.user = user;
    this.quota = quota;
    this.denied = denied;
  }

  get status(): number {
    return errorCodes[this.code].status;
  }
}

/** Maximum number of things that an error response lists. */
const MAX_DETAILS = 20;

/** Returns the first details and the number of the remaining ones. */
function atMost(details: readonly ErrorDetail[]): readonly ErrorDetail[] {
  if (details.length <= MAX_DETAILS) return details;
  return [
    ...details.slice(0, MAX_DETAILS),
    { path: "", reason: `and ${details.length - MAX_DETAILS} more` },
  ];
}

function serviceError(code: ErrorCode, message: string, extras?: ErrorExtras): ServiceError {
  return new ServiceError(code, message, extras);
}

/**
 * Every error response that the server sends, by code; the statuses are in
 * `src/protocol/error-codes.ts`.
 */
export const errors = {
  // invalid_request
  /** `path` is empty for the whole body. */
  invalidRequest: (path: string, reason: string) =>
    serviceError("invalid_request", "invalid request", { details: [{ path, reason }] }),
  invalidBody: (details: readonly ErrorDetail[]) =>
    serviceError("invalid_request", "invalid request body", { details: atMost(details) }),
  unreadableRequest: () => serviceError("invalid_request", "the request could not be read"),
  invalidHost: () =>
    serviceError("invalid_request", "invalid host header: send one host, with an optional port"),
  malformedHttp: () => serviceError("invalid_request", "malformed HTTP request"),
  // invalid_scope
  invalidScope: (reason: string) => serviceError("invalid_scope", reason),
  // invalid_credentials
  invalidCredentials: () => serviceError("invalid_credentials", "wrong email or password"),
  /** The same for every reason: a stranger learns nothing about issuers, identities and accounts. */
  invalidIdentity: () => serviceError("invalid_credentials", "the identity is not accepted"),
  // invalid_token
  invalidAccessToken: (denied?: DeniedToken) =>
    serviceError(
      "invalid_token",
      "the access token is missing, unknown, expired or not for this network; send it without a scheme such as Bearer",
      { denied },
    ),
  sessionExpired: () => serviceError("invalid_token", "the session has expired; log in again"),
  // invalid_refresh_token
  invalidRefreshToken: (denied?: DeniedToken) =>
    serviceError(
      "invalid_refresh_token",
      "the refresh token is expired, not of this access token or not for this network; log in again",
      {
        denied,
      },
    ),
  // invalid_confirmation
  invalidConfirmation: () =>
    serviceError(
      "invalid_confirmation",
      "the link is invalid, already used or expired; request a new one",
    ),
  // out_of_scope
  outOfScope: () => serviceError("out_of_scope", "the token's scope does not include this secret"),
  limitedScope: () => serviceError("out_of_scope", "only a token of unlimited scope may do this"),
  // forbidden
  writeOnly: () => serviceError("forbidden", "the secret is shared with you for writing only"),
  damagedShare: () =>
    serviceError(
      "forbidden",
      "the stored share is not authentic: ask the creator of the secret to share it again",
    ),
  readOnly: () => serviceError("forbidden", "the secret is shared with you for reading only"),
  creatorOnlyMetadata: () =>
    serviceError(
      "forbidden",
      "only the creator of a secret may change its scope attributes and expiration_time",
    ),
  creatorOnly: () => serviceError("forbidden", "only the creator of a secret may do this"),
  callerBlocked: () => serviceError("forbidden", "you cannot block yourself"),
  teamCreatorStays: () =>
    serviceError("forbidden", "the creator stays a member: delete the team instead"),
  teamCreatorOnly: () => serviceError("forbidden", "only the creator of a team may change it"),
  // email_mismatch
  emailMismatch: (field: string, user: string) =>
    serviceError("email_mismatch", `${field} is not the owner of the access token or session`, {
      user,
    }),
  // csrf_failed
  foreignOrigin: (appUrl: string) =>
    serviceError(
      "csrf_failed",
      `the request comes from another origin; use the web application at ${appUrl}`,
    ),
  csrfTokenMismatch: (header: string) =>
    serviceError("csrf_failed", `send the session's csrf_token as ${header}`),
  // secret_expired
  secretExpired: () =>
    serviceError(
      "secret_expired",
      "the secret's expiration_time has passed; protect a new version",
    ),
  // quota_exceeded
  quotaExceeded: (quota: QuotaName, most: number) =>
    serviceError(
      "quota_exceeded",
      `the quota is ${most} ${quotaTexts[quota]}; delete some, or ask the operator of the server`,
      {
        quota,
      },
    ),
  // not_found and its kinds
  pathNotFound: () => serviceError("not_found", "no such path"),
  noIdentities: () =>
    serviceError("not_found", "this server accepts no identities: log in with a password"),
  /** Also sent for secrets that the caller may not know of: the two are indistinguishable. */
  secretNotFound: () => serviceError("secret_not_found", "no such secret"),
  secretVersionNotFound: () => serviceError("version_not_found", "the secret has no such version"),
  /** Also sent for other users' files: file names are per user. */
  fileNotFound: () => serviceError("file_not_found", "no such file"),
  fileVersionNotFound: () => serviceError("version_not_found", "the file has no such version"),
  /** Also sent for other users' entries. */
  trashEntryNotFound: () =>
    serviceError("trash_entry_not_found", "no such entry in your trash; it may have ended"),
  /** Also sent for teams that the caller does not belong to. */
  teamNotFound: () => serviceError("team_not_found", "no such team among yours"),
  // token_not_found
  tokenNotFound: () =>
    serviceError("token_not_found", "no such token or session; it may have ended"),
  // method_not_allowed
  methodNotAllowed: (allowed: string) =>
    serviceError("method_not_allowed", `method not allowed; use ${allowed}`),
  // conflicts
  useLinkOperation: () =>
    serviceError("use_link_operation", "the secret is shared; use the _link operation"),
  useUnsharedOperation: () =>
    serviceError(
      "use_unshared_operation",
      "the secret is not shared; use the operation without _link",
    ),
  ambiguousName: () =>
    serviceError(
      "ambiguous_name",
      "several owners share a secret of this name with you; set owner",
    ),
  versionChanged: (reason: string) =>
    serviceError(
      "version_changed",
      "the latest version is another one than expected; nothing was changed",
      {
        details: [{ path: "expected_version", reason }],
      },
    ),
  /** @param others field with further recipients, who are not named */
  invitationRequired: (paths: readonly string[], others?: string) =>
    serviceError(
      "invitation_required",
      "some recipients have no account or are not logged in; nothing was shared",
      {
        details: [
          ...atMost(paths.map((path) => ({ path, reason: "would be invited" }))),
          ...(others === undefined
            ? []
            : [{ path: others, reason: "some recipients would be invited" }]),
        ],
      },
    ),
  /** Sent whether recipients would be invited or not. */
  tooManyStrangers: (path: string) =>
    serviceError(
      "invitation_required",
      "recipients may have no account or not be logged in; nothing was shared",
      {
        details: [
          {
            path,
            reason: "too many addresses that you share nothing with; share without invite: false",
          },
        ],
      },
    ),
  nameTaken: () =>
    serviceError("name_taken", "you have another secret or file of this name: choose another name"),
  lastVersion: () =>
    serviceError("last_version", "this is the only version; delete the secret instead"),
  teamExists: () =>
    serviceError(
      "team_exists",
      "a team of this name, or of one that looks like it, exists: choose another",
    ),
  // too_large
  bodyTooLarge: () => serviceError("too_large", "the request body is too large"),
  valueTooLarge: (maxBytes: number) =>
    serviceError("too_large", `key_value is larger than ${maxBytes} bytes`),
  metadataTooLarge: (maxBytes: number) =>
    serviceError(
      "too_large",
      `the metadata of the version would be larger than ${maxBytes} bytes of JSON`,
    ),
  secretTooLargeToRename: (maxVersions: number, maxBytes: number) =>
    serviceError(
      "too_large",
      `the secret has more than ${maxVersions} versions and shares or ${maxBytes} bytes, too many for another name`,
    ),
  fileTooLargeToRename: (maxVersions: number) =>
    serviceError(
      "too_large",
      `the file has more than ${maxVersions} versions, too many for another name`,
    ),
  fileTooLarge: (maxBytes: number) =>
    serviceError("too_large", `a file is larger than ${maxBytes} bytes`),
  // misdirected_request
  misdirectedRequest: () =>
    serviceError(
      "misdirected_request",
      "this host is not served: use the server's address or the URL of its web application, or add the host to --allowed-hosts",
    ),
  // unsupported_media_type
  unsupportedMediaType: (expected: string) =>
    serviceError(
      "unsupported_media_type",
      `send content-type: ${expected}, without content-encoding`,
    ),
  // rate_limited
  tooManyLogins: (retryAfterMs: number) =>
    serviceError("rate_limited", "too many logins; retry later", { retryAfterMs }),
  tooManyEmails: (retryAfterMs: number) =>
    serviceError(
      "rate_limited",
      "an email was just sent, or too many were requested; retry later",
      { retryAfterMs },
    ),
  tooManyFailures: (retryAfterMs: number) =>
    serviceError(
      "rate_limited",
      "too many failed requests without valid credentials; retry later",
      { retryAfterMs },
    ),
  tooManyRequests: (retryAfterMs: number, user?: string) =>
    serviceError("rate_limited", "too many requests with this token; retry later", {
      retryAfterMs,
      user,
    }),
  tooManyDownloads: () =>
    serviceError("rate_limited", "too many simultaneous downloads of this account; retry later", {
      retryAfterMs: 1000,
    }),
  auditBudgetSpent: (retryAfterMs: number, user: string) =>
    serviceError(
      "rate_limited",
      "the requests of this account fill the audit log too fast; retry later",
      { retryAfterMs, user },
    ),
  lowSpaceRate: (retryAfterMs: number, user: string) =>
    serviceError(
      "rate_limited",
      "the server is low on disk space and serves few requests of each account; delete some data or retry later",
      { retryAfterMs, user },
    ),
  tooManyLists: (retryAfterMs: number, user: string) =>
    serviceError(
      "rate_limited",
      "too many lists of this account are being read; read them to their end, or retry later",
      {
        retryAfterMs,
        user,
      },
    ),
  // internal
  internal: () => serviceError("internal", "internal error; retry later"),
  missingMasterKey: () =>
    serviceError(
      "internal",
      "the server does not have the master key for this: notify its operator",
    ),
  // unavailable
  issuerUnavailable: () =>
    serviceError("unavailable", "the keys of the issuer cannot be read; retry later", {
      retryAfterMs: 10_000,
    }),
  storeUnavailable: () =>
    serviceError("unavailable", "the store is unreachable or overloaded; retry later", {
      retryAfterMs: 1000,
    }),
  listChanged: () =>
    serviceError("unavailable", "the list has changed while it was read; retry", {
      retryAfterMs: 1000,
    }),
  lowSpace: () =>
    serviceError(
      "unavailable",
      "the server is low on disk space, only reads and deletions are served; delete some data or retry later",
      {
        retryAfterMs: 10_000,
      },
    ),
  auditLogUnavailable: () =>
    serviceError(
      "unavailable",
      "the audit log cannot be written, so no request is served; retry later",
      { retryAfterMs: 1000 },
    ),
} as const;
