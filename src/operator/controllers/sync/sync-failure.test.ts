import { describe, expect, test } from "vitest";
import { syncItem, syncResource } from "../../../../test/support/kube/sync-resource.ts";
import { KubeError, type KubeErrorDetails } from "../../kube/kube-error.ts";
import {
  AuthError,
  PermanentError,
  type PermanentCode,
  RateLimitedError,
  RefusedError,
  TransientError,
  UnexpectedResponse,
  type VaultError,
} from "../../vault-client/vault-error.ts";
import { vaultFailure, writeFailure } from "./sync-failure.ts";

describe("a vault that does not give what it lists", () => {
  test.each<[string, VaultError, string, number]>([
    ["is away", new TransientError("expose", "timeout"), "VaultUnreachable", 1_000],
    [
      "says when to come back",
      new TransientError("expose", "server_error", { status: 503, retryAfterMs: 7_000 }),
      "VaultUnreachable",
      7_000,
    ],
    ["has enough of us", new RateLimitedError("expose", 90_000), "RateLimited", 90_000],
    ["does not know us", new AuthError("generate_access_token", "credentials", 300_000), "AuthFailed", 300_000],
    ["does not know our token", new AuthError("expose", "token"), "AuthFailed", 60_000],
    ["can't be understood", new UnexpectedResponse("expose", "key_value"), "UnexpectedResponse", 60_000],
    ["is not to be trusted", new RefusedError("expose", "redirect"), "ConnectionNotReady", 60_000],
  ])("%s: tried again, with Ready as it is", (_, error, reason, retryAfterMs) => {
    expect(vaultFailure(error, "db")).toEqual({ kind: "retry", reason, message: `db: ${error.message}`, retryAfterMs });
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
  ])("refuses with %s: %s, looked at again seldom", (code, reason) => {
    const failure = vaultFailure(new PermanentError("expose", code), "db");
    expect(failure).toMatchObject({ kind: "final", readyCondition: { ready: false, reason }, retryAfterMs: 60_000 });
  });
});

describe("an API server that refuses the target", () => {
  const resource = syncResource([syncItem("a")]);
  const refused = (details: Omit<KubeErrorDetails, "operation">) =>
    writeFailure(new KubeError({ operation: "replace secrets shop/db", ...details }), resource);

  test.each(["type", "data", "binaryData", "immutable"])("as immutable in its %s: only a person can mend it", (field) => {
    const failure = refused({ kind: "Invalid", status: 422, causes: [{ field, reason: "FieldValueForbidden" }] });
    expect(failure).toMatchObject({ kind: "final", readyCondition: { reason: "TargetImmutable" }, retryAfterMs: undefined });
  });

  test.each(["data[tls.crt]", "metadata.name", "metadata.annotations"])("for its %s", (field) => {
    const failure = refused({ kind: "Invalid", status: 422, causes: [{ field, reason: "FieldValueInvalid" }] });
    expect(failure).toMatchObject({ kind: "final", readyCondition: { reason: "TargetRejected" }, retryAfterMs: 60_000 });
    expect(failure).toMatchObject({
      readyCondition: { message: `the API server rejected the Secret db: ${field} (FieldValueInvalid)` },
    });
  });

  test.each<[KubeErrorDetails["kind"], string, number | undefined]>([
    ["TooLarge", "TooLarge", undefined],
    ["Forbidden", "TargetForbidden", 60_000],
    ["QuotaExceeded", "QuotaExceeded", 60_000],
  ])("as %s: %s", (kind, reason, retryAfterMs) => {
    expect(refused({ kind })).toMatchObject({ kind: "final", readyCondition: { ready: false, reason }, retryAfterMs });
  });

  test.each<KubeErrorDetails["kind"]>([
    "Conflict",
    "AlreadyExists",
    "NotFound",
    "Timeout",
    "Unavailable",
    "TooManyRequests",
    "NotLeader",
    "NamespaceTerminating",
    "Unauthorized",
    "Unexpected",
    "Gone",
  ])("%s is no readyCondition on the target: the attempt is made again", (kind) => {
    expect(refused({ kind })).toBeUndefined();
  });

  test("neither is what is no answer of the API server at all", () => {
    expect(writeFailure(new Error("bug"), resource)).toBeUndefined();
    expect(writeFailure("text", resource)).toBeUndefined();
  });
});
