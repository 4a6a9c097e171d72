import { describe, expect, test } from "vitest";
import {
  AuthError,
  CredentialsError,
  type PermanentCode,
  PermanentError,
  RateLimitedError,
  RefusedError,
  TransientError,
  UnexpectedResponse,
  type VaultError,
} from "../../vault-client/vault-error.ts";
import { entryFailure } from "./entry-failure.ts";

test.each<[VaultError, string]>([
  [
    new TransientError("expose", "unreachable", { detail: "ECONNREFUSED" }),
    "the vault cannot be reached (ECONNREFUSED): see the connection",
  ],
  [
    new TransientError("expose", "timeout"),
    "the vault did not respond in time: see the connection",
  ],
  [
    new TransientError("expose", "reset", { detail: "ECONNRESET" }),
    "the vault closed the connection before its response was complete (ECONNRESET)",
  ],
  [
    new TransientError("expose", "reset"),
    "the vault closed the connection before its response was complete",
  ],
  [
    new TransientError("expose", "server_error", { status: 503 }),
    "the vault responds with status 503: see the log of the vault",
  ],
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
  [
    new AuthError("expose", "token"),
    "the vault rejects the account or its token: see the connection",
  ],
  [new CredentialsError("Secret login not found"), "Secret login not found"],
  [
    new UnexpectedResponse("expose", "key_value"),
    "the response of the vault cannot be read: key_value is missing or malformed",
  ],
  [
    new PermanentError("expose", "out_of_scope"),
    "it is outside spec.scope of the connection, by its name or its metadata: extend the scope",
  ],
  [new PermanentError("expose", "conflict"), 'the vault responds with the error "conflict"'],
  [
    new RefusedError("expose", "redirect"),
    "refused (redirect): the vault redirects; set the URL to the final address",
  ],
])("entryFailure explains %s without the operation", (error, text) => {
  expect(entryFailure(error, "db").condition.message).toBe(`db: ${text}`);
});

describe("entryFailure", () => {
  test.each<[string, VaultError, string, number | undefined]>([
    [
      "retries a transient error with backoff",
      new TransientError("expose", "timeout"),
      "VaultUnreachable",
      undefined,
    ],
    [
      "retries a transient error after the requested delay",
      new TransientError("expose", "server_error", { status: 503, retryAfterMs: 7_000 }),
      "VaultUnreachable",
      7_000,
    ],
    [
      "reports credentials that the API server did not return, which is no failure of the vault,",
      new TransientError("generate_access_token", "credentials_not_read", { detail: "Timeout" }),
      "ConnectionNotReady",
      undefined,
    ],
    [
      "retries rejected credentials after the requested delay",
      new AuthError("generate_access_token", "credentials", 300_000),
      "AuthFailed",
      300_000,
    ],
    ["retries a rejected token slowly", new AuthError("expose", "token"), "AuthFailed", 60_000],
    [
      "retries a malformed response slowly",
      new UnexpectedResponse("expose", "key_value"),
      "UnexpectedResponse",
      60_000,
    ],
    [
      "retries an untrusted vault slowly",
      new RefusedError("expose", "redirect"),
      "ConnectionNotReady",
      60_000,
    ],
  ])("%s and keeps Ready", (_, error, reason, atLeastMs) => {
    expect(entryFailure(error, "db")).toEqual({
      condition: { ready: false, reason, message: expect.stringMatching(/^db: ./u) as string },
      next: { outcome: "retry", cause: "vault", reason, atLeastMs },
    });
  });

  test("retries a rate-limited request after the requested delay, which is not in the message", () => {
    const failure = entryFailure(new RateLimitedError("expose", 90_000), "db");
    expect(failure.next).toMatchObject({
      outcome: "retry",
      reason: "RateLimited",
      atLeastMs: 90_000,
    });
    expect(failure.condition.message).toBe("db: the vault throttles the operator");
  });

  test.each<[PermanentCode, string]>([
    ["secret_not_found", "SourceMissing"],
    ["file_not_found", "SourceMissing"],
    ["not_found", "UnexpectedResponse"],
    ["version_not_found", "VersionNotFound"],
    ["ambiguous_name", "AmbiguousName"],
    ["out_of_scope", "ScopeDenied"],
    ["forbidden", "ScopeDenied"],
    ["secret_expired", "Expired"],
    ["too_large", "TooLarge"],
    ["invalid_request", "UnexpectedResponse"],
  ])("maps %s to %s and retries slowly", (code, reason) => {
    const failure = entryFailure(new PermanentError("expose", code), "db");
    expect(failure).toEqual({
      condition: { ready: false, reason, message: `db: ${failure.condition.message.slice(4)}` },
      next: { outcome: "done", wait: { for: "connection", atMostMs: 600_000 } },
    });
  });
});
