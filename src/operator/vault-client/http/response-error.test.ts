import { expect, test } from "vitest";
import type { Operation } from "../../../protocol/operation-paths.ts";
import { responseError } from "./response-error.ts";

const now = Date.UTC(2026, 10, 21);

function errorOf(
  operation: Operation,
  status: number,
  body: unknown,
  retryAfter?: string,
): unknown {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return responseError(
    operation,
    { status, body: bytes, header: (name) => (name === "retry-after" ? retryAfter : undefined) },
    now,
  );
}

const named = (code: string): object => ({ error: { code, message: "canary" } });

test.each<[Operation, number, unknown, object]>([
  ["expose", 404, named("secret_not_found"), { kind: "permanent", code: "secret_not_found" }],
  [
    "version_expose",
    404,
    named("version_not_found"),
    { kind: "permanent", code: "version_not_found" },
  ],
  ["expose", 409, { error: "ambiguous_name" }, { kind: "permanent", code: "ambiguous_name" }],
  [
    "expose",
    409,
    { code: "use_link_operation" },
    { kind: "permanent", code: "use_link_operation" },
  ],
  ["expose", 403, named("out_of_scope"), { kind: "permanent", code: "out_of_scope" }],
  ["expose", 403, named("secret_expired"), { kind: "permanent", code: "secret_expired" }],
  ["expose", 403, named("email_mismatch"), { kind: "auth", code: "email_mismatch" }],
  ["expose", 403, "<html>canary</html>", { kind: "permanent", code: "forbidden" }],
  ["expose", 404, {}, { kind: "permanent", code: "not_found" }],
  ["expose", 404, "<html>canary</html>", { kind: "unexpected-response", field: "error.code" }],
  ["expose", 410, "", { kind: "unexpected-response", field: "error.code" }],
  ["expose", 409, "", { kind: "permanent", code: "conflict" }],
  ["expose", 422, named("toString"), { kind: "permanent", code: "invalid_request" }],
  ["expose", 405, named("method_not_allowed"), { kind: "permanent", code: "unsupported" }],
  ["expose", 413, "", { kind: "permanent", code: "too_large" }],
  ["expose", 418, "", { kind: "permanent", code: "unsupported" }],
  ["expose", 401, "", { kind: "auth", code: "token" }],
  ["expose", 400, named("invalid_token"), { kind: "auth", code: "token" }],
  ["refresh_token", 401, named("invalid_refresh_token"), { kind: "auth", code: "refresh_token" }],
  ["refresh_token", 404, {}, { kind: "auth", code: "refresh_token" }],
  [
    "exchange_identity_token",
    401,
    named("invalid_credentials"),
    { kind: "auth", code: "identity" },
  ],
  ["exchange_identity_token", 403, {}, { kind: "auth", code: "identity" }],
  ["exchange_identity_token", 404, named("not_found"), { kind: "permanent", code: "not_found" }],
  ["exchange_identity_token", 404, {}, { kind: "permanent", code: "not_found" }],
  [
    "exchange_identity_token",
    400,
    named("invalid_scope"),
    { kind: "permanent", code: "invalid_scope" },
  ],
  [
    "refresh_token",
    404,
    "<html>canary</html>",
    { kind: "unexpected-response", field: "error.code" },
  ],
  [
    "generate_access_token",
    401,
    named("invalid_credentials"),
    { kind: "auth", code: "credentials" },
  ],
  ["generate_access_token", 403, {}, { kind: "auth", code: "credentials" }],
  [
    "generate_access_token",
    401,
    "<html>canary</html>",
    { kind: "unexpected-response", field: "error.code" },
  ],
  [
    "generate_access_token",
    403,
    "<html>canary</html>",
    { kind: "unexpected-response", field: "error.code" },
  ],
  ["generate_access_token", 404, "", { kind: "unexpected-response", field: "error.code" }],
  [
    "generate_access_token",
    400,
    named("invalid_scope"),
    { kind: "permanent", code: "invalid_scope" },
  ],
  ["expose", 408, "", { kind: "transient", code: "server_error", status: 408 }],
  [
    "expose",
    500,
    named("secret_not_found"),
    { kind: "transient", code: "server_error", status: 500 },
  ],
  ["expose", 302, "", { kind: "refused", code: "redirect" }],
  ["expose", 304, "", { kind: "unexpected-response", field: "body" }],
])("maps the response to %s with %d %j", (operation, status, body, expected) => {
  const error = errorOf(operation, status, body);
  expect(error).toMatchObject(expected);
  expect(String(error)).not.toContain("canary");
});

test.each([
  ["5", 5_000],
  ["0", 1_000],
  ["1000000000", 600_000],
  ["9".repeat(400), 600_000],
  ["-5", 1_000],
  ["1.5", 1_000],
  ["soon", 1_000],
  ["", 1_000],
  [undefined, 1_000],
  [new Date(now + 20_000).toUTCString(), 20_000],
  [new Date(now - 20_000).toUTCString(), 1_000],
  [new Date(now + 1e12).toUTCString(), 600_000],
])("maps 429 with retry-after %j to a delay of %d ms", (header, retryAfterMs) => {
  expect(errorOf("expose", 429, "", header)).toMatchObject({ kind: "rate-limited", retryAfterMs });
});

test("maps 5xx with its retry-after, and without a valid one to no delay", () => {
  expect(errorOf("expose", 503, "", "7")).toMatchObject({ kind: "transient", retryAfterMs: 7_000 });
  expect(errorOf("expose", 503, "", "garbage")).toMatchObject({
    kind: "transient",
    retryAfterMs: undefined,
  });
});
