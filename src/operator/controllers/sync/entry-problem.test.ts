import { expect, test } from "vitest";
import {
  AuthError,
  CredentialsError,
  PermanentError,
  RateLimitedError,
  RefusedError,
  TransientError,
  UnexpectedResponse,
  type VaultError,
} from "../../vault-client/vault-error.ts";
import { entryProblem } from "./entry-problem.ts";

test.each<[VaultError, string]>([
  [
    new TransientError("expose", "unreachable", { detail: "ECONNREFUSED" }),
    "the vault cannot be reached (ECONNREFUSED): see the connection",
  ],
  [new TransientError("expose", "timeout"), "the vault did not respond in time: see the connection"],
  [
    new TransientError("expose", "reset", { detail: "ECONNRESET" }),
    "the vault closed the connection before its response was complete (ECONNRESET)",
  ],
  [new TransientError("expose", "server_error", { status: 503 }), "the vault responds with status 503: see the log of the vault"],
  [
    new TransientError("generate_access_token", "credentials_not_read", { detail: "Timeout" }),
    "the API server did not return the credentials (Timeout): check the API server",
  ],
  [
    new TransientError("expose", "circuit_open", { retryAfterMs: 5_000 }),
    "several requests in a row failed, so none is sent until the vault can be listed: see the connection",
  ],
  [new TransientError("download_file", "size_mismatch"), "size mismatch"],
  [new RateLimitedError("expose", 90_000), "the vault throttles the operator"],
  [new AuthError("expose", "token"), "the vault rejects the account or its token: see the connection"],
  [new CredentialsError("Secret login not found"), "Secret login not found"],
  [new UnexpectedResponse("expose", "key_value"), "the response of the vault cannot be read: key_value is missing or malformed"],
  [
    new PermanentError("expose", "out_of_scope"),
    "it is outside spec.scope of the connection, by its name or its metadata: extend the scope",
  ],
  [new PermanentError("expose", "conflict"), 'the vault responds with the error "conflict"'],
  [new RefusedError("expose", "redirect"), "refused (redirect): the vault redirects; set the URL to the final address"],
])("entryProblem explains %s without the operation", (error, text) => {
  expect(entryProblem(error)).toBe(text);
});
