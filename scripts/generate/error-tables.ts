import { errorCodes } from "../../src/protocol/error-codes.ts";
import type {
  AuthCode,
  PermanentCode,
  RefusedCode,
  TransientCode,
  VaultErrorKind,
} from "../../src/operator/vault-client/vault-error.ts";
import { code, table } from "./markdown.ts";

interface ClientError {
  readonly className: string;
  readonly meaning: string;
  readonly reaction: string;
}

const clientErrors: Readonly<Record<VaultErrorKind, ClientError>> = {
  transient: {
    className: "TransientError",
    meaning: "The connection or the vault failed.",
    reaction:
      "Retries with backoff, 1 s to 5 min. Five failures in a row open the circuit breaker.",
  },
  "rate-limited": {
    className: "RateLimitedError",
    meaning: "Too many requests (429).",
    reaction:
      "Sends nothing until `retry-after` has passed (1 s to 10 min), then half as many requests.",
  },
  auth: {
    className: "AuthError",
    meaning: "The vault rejected the credentials or a token.",
    reaction:
      "Refreshes the token or logs in, with backoff; new credentials are tried immediately.",
  },
  permanent: {
    className: "PermanentError",
    meaning: "The request fails until it or the vault's content changes.",
    reaction:
      "Reports it on the resource, and tries again when the spec or the list changes, after 10 minutes at the latest.",
  },
  "unexpected-response": {
    className: "UnexpectedResponse",
    meaning: "The response cannot be read; the message names the field.",
    reaction: "Changes nothing and retries after a minute.",
  },
  refused: {
    className: "RefusedError",
    meaning: "The client refused the connection for security; nothing secret was sent.",
    reaction: "Retries the list with backoff (1 s to 5 min) and a resource after a minute.",
  },
};

const transientCodes: Readonly<Record<TransientCode, string>> = {
  unreachable: "No connection: refused, no route, or no such host.",
  timeout: "The deadline of the request passed.",
  reset: "The connection broke before the response was complete.",
  server_error: "Status 5xx, 408 or 425.",
  circuit_open: "Not sent, because several requests in a row failed.",
  size_mismatch: "A download's size differs from the list.",
  digest_mismatch: "A download's SHA-256 differs from the list.",
  no_memory: "Other responses took the memory for them, so that this one was not read.",
  not_leader: "A write was not sent, because this process did not renew its Lease in time.",
  credentials_not_read:
    "The API server did not return the credentials Secret, so nothing was sent.",
};

const authCodes: Readonly<Record<AuthCode, string>> = {
  credentials: "The vault rejected the login.",
  identity: "The vault rejected the token of the ServiceAccount.",
  token: "The vault rejected the access token, even a new one.",
  refresh_token: "The vault rejected the refresh token.",
  email_mismatch: "The email is not that of the token's owner.",
  missing: "The credentials do not exist; nothing was sent.",
  unusable: "The credentials Secret cannot or must not be used; nothing was sent.",
  too_many_rejected:
    "The vault rejected too many other credentials of the account; nothing was sent.",
};

const vaultMeaning = (name: keyof typeof errorCodes): string => errorCodes[name].meaning;

const permanentCodes: Readonly<Record<PermanentCode, string>> = {
  secret_not_found: vaultMeaning("secret_not_found"),
  version_not_found: vaultMeaning("version_not_found"),
  file_not_found: vaultMeaning("file_not_found"),
  not_found: "Status 404 or 410 without a known code.",
  ambiguous_name: vaultMeaning("ambiguous_name"),
  use_link_operation: vaultMeaning("use_link_operation"),
  use_unshared_operation: vaultMeaning("use_unshared_operation"),
  out_of_scope: vaultMeaning("out_of_scope"),
  forbidden: "Status 403 without a known code, or a missing permission.",
  secret_expired: vaultMeaning("secret_expired"),
  too_large: vaultMeaning("too_large"),
  list_too_long:
    "A list is longer than `--max-list-bytes`, or has more values or entries than a list of that length has; it is requested again after 5 minutes.",
  quota_exceeded: vaultMeaning("quota_exceeded"),
  invalid_scope: vaultMeaning("invalid_scope"),
  invalid_request: "Status 400 or 422: the vault does not accept the client's request.",
  conflict: "Status 409 without a known code.",
  unsupported: "Status 405, 415 or any other 4xx without a known code.",
};

const refusedCodes: Readonly<Record<RefusedCode, string>> = {
  address: "The host resolves to an address that the policy forbids.",
  host: "The host is not in the list of allowed hosts.",
  insecure: "Plain HTTP.",
  url: "The URL is not a base address.",
  redirect: "The vault redirected the request.",
  tls: "The certificate could not be verified.",
  ca: "The CA bundle cannot be parsed.",
};

/** Returns the error codes of the vault as a table. */
export function vaultErrorTable(): string {
  return table(
    ["Code", "Status", "Meaning", "Remedy"],
    Object.entries(errorCodes).map(([name, { status, meaning, remedy }]) => [
      code(name),
      String(status),
      meaning,
      remedy,
    ]),
  );
}

/** The codes of a class; `undefined` where the class has none. */
const codesOf: Readonly<Record<VaultErrorKind, Readonly<Record<string, string>> | undefined>> = {
  transient: transientCodes,
  "rate-limited": undefined,
  auth: authCodes,
  permanent: permanentCodes,
  "unexpected-response": undefined,
  refused: refusedCodes,
};

/** Returns the rows of the codes of a class. Error codes of the vault share one row. */
function codeRows(codes: Readonly<Record<string, string>>): string[][] {
  const all = Object.entries(codes);
  const vaultMeanings: readonly string[] = Object.values(errorCodes).map(({ meaning }) => meaning);
  const [ofVault, own] = [
    all.filter(([, meaning]) => vaultMeanings.includes(meaning)),
    all.filter(([, meaning]) => !vaultMeanings.includes(meaning)),
  ];
  const link = "as the [vault's error code](vault-api.md#error-codes)";
  return [
    ...own.map(([name, meaning]) => [code(name), meaning]),
    ...(ofVault.length > 0 ? [[ofVault.map(([name]) => code(name)).join(", "), link]] : []),
  ];
}

/** Returns the classes of errors of the operator's vault client, each with its codes, as a table. */
export function clientErrorTables(): Record<string, string> {
  const rows = Object.entries(clientErrors).flatMap(([kind, { className, meaning, reaction }]) => [
    [`**${className}**`, `${meaning} ${reaction}`],
    ...codeRows(codesOf[kind as VaultErrorKind] ?? {}),
  ]);
  return { "client-errors": table(["Class or code", "Meaning, and what the operator does"], rows) };
}
