import type { PermanentCode, TransientError, VaultError } from "../../vault-client/vault-error.ts";

/** Rejections of the vault, with what to do where a user can do something. */
const rejections: Partial<Record<PermanentCode, string>> = {
  secret_not_found: "the vault lists it, but does not find it",
  file_not_found: "the vault lists it, but does not find it",
  version_not_found: "the vault does not have this version: set version to an existing one, or to latest",
  ambiguous_name: "several creators share a secret of this name: set remoteRef.owner to one of them",
  out_of_scope: "it is outside spec.scope of the connection, by its name or its metadata: extend the scope",
  forbidden: "the account lacks the permission: ask its creator to share it accordingly",
  secret_expired: "it has expired, and the vault does not serve it: create a new version",
  too_large: "its value is too large: split it",
  quota_exceeded: "a quota of the vault is used up: raise it, or free some of it",
};

function transientProblem({ code, status, detail, text }: TransientError): string {
  const cause = detail === undefined ? "" : ` (${detail})`;
  switch (code) {
    case "unreachable":
      return `the vault cannot be reached${cause}: see the connection`;
    case "timeout":
      return "the vault did not respond in time: see the connection";
    case "reset":
      return `the vault closed the connection before its response was complete${cause}`;
    case "server_error":
      return `the vault responds with status ${status ?? 500}: see the log of the vault`;
    case "credentials_not_read":
      return `the API server did not return the credentials${cause}: check the API server`;
    case "circuit_open":
      return "several requests in a row failed, so none is sent until the vault can be listed: see the connection";
    case "no_memory":
      return "other responses, of vaults of this namespace or of many, take the memory for them";
    default:
      return text;
  }
}

/** Returns what a failed request for one entry of the vault means, and what to do. It contains no delay, so that retries share it. */
export function entryProblem(error: VaultError): string {
  switch (error.kind) {
    case "transient":
      return transientProblem(error);
    case "rate-limited":
      return "the vault throttles the operator";
    case "auth":
      return error.code === "unusable" ? error.text : "the vault rejects the account or its token: see the connection";
    case "unexpected-response":
      return `the response of the vault cannot be read: ${error.field} is missing or malformed`;
    case "permanent":
      return rejections[error.code] ?? `the vault responds with the error "${error.text}"`;
    case "refused":
      return error.text;
  }
}
