import * as fc from "fast-check";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { refusal } from "../../../../test/support/kube/loopback-api-server.ts";
import type { KubeErrorKind } from "../kube-error.ts";
import { responseError } from "./status-error.ts";

const CANARY = "canary-1d70b2c4e9f85a36";
const operation = "create secrets a/s";

function kindOf(status: number, body: unknown): KubeErrorKind {
  return responseError({ operation, status, body, now: 0 }).kind;
}

test.each<[string, number, object, KubeErrorKind]>([
  ["an object that is not there", 404, refusal(404, "NotFound"), "NotFound"],
  ["a name that is taken", 409, refusal(409, "AlreadyExists"), "AlreadyExists"],
  ["another resourceVersion", 409, refusal(409, "Conflict"), "Conflict"],
  ["an old resourceVersion", 410, refusal(410, "Expired"), "Gone"],
  ["a failed validation", 422, refusal(422, "Invalid"), "Invalid"],
  ["a malformed object", 400, refusal(400, "BadRequest"), "Invalid"],
  ["too much data", 422, refusal(422, "Invalid", { causes: [{ reason: "FieldValueTooLong", field: "data" }] }), "TooLarge"],
  ["too large a body", 413, refusal(413, "RequestEntityTooLarge"), "TooLarge"],
  ["no right", 403, refusal(403, "Forbidden"), "Forbidden"],
  ["no quota", 403, refusal(403, "Forbidden", {}, 'secrets "s" is forbidden: exceeded quota: q, used: 1'), "QuotaExceeded"],
  [
    "a dying namespace",
    403,
    refusal(403, "Forbidden", { causes: [{ reason: "NamespaceTerminating", field: "metadata.namespace" }] }),
    "NamespaceTerminating",
  ],
  ["no credentials", 401, refusal(401, "Unauthorized"), "Unauthorized"],
  ["flow control", 429, refusal(429, "TooManyRequests"), "TooManyRequests"],
  ["a slow etcd", 500, refusal(500, "ServerTimeout"), "Timeout"],
  ["a gateway's timeout", 504, refusal(504, "Timeout"), "Timeout"],
  ["an internal error", 500, refusal(500, "InternalError"), "Unavailable"],
  ["a server that stops", 503, refusal(503, "ServiceUnavailable"), "Unavailable"],
])("%s (%i)", (_, status, body, kind) => {
  expect(kindOf(status, body)).toBe(kind);
});

test("a 404 that the API server did not write does not say that the object is gone", () => {
  for (const body of [undefined, null, [], "404 page not found", { kind: "Error" }]) expect(kindOf(404, body)).toBe("Unexpected");
});

test("a redirect or any other surprise is unexpected", () => {
  for (const status of [301, 302, 307, 405, 406, 415]) expect(kindOf(status, undefined)).toBe("Unexpected");
});

test("which field was refused and why is told, the value and the server's words are not", () => {
  const causes = [{ reason: "FieldValueInvalid", field: "data[ca.crt]", message: `Invalid value: "${CANARY}"` }];
  const error = responseError({ operation, status: 422, body: refusal(422, "Invalid", { causes }, CANARY), now: 0 });
  expect(error.causes).toEqual([{ reason: "FieldValueInvalid", field: "data[ca.crt]" }]);
  expect(error.message).toBe("create secrets a/s: Invalid (422 Invalid)");
  expect(inspect(error, { depth: 10 }) + JSON.stringify(error) + String(error.stack)).not.toContain(CANARY);
});

test("a reason that is no single word is dropped", () => {
  const error = responseError({ operation, status: 403, body: refusal(403, `because of ${CANARY}`), now: 0 });
  expect(error.reason).toBe("");
});

test("the time to wait comes from the header, or else from the Status, and is clamped", () => {
  const body = refusal(429, "TooManyRequests", { retryAfterSeconds: 7 });
  const wait = (retryAfter?: string): number | undefined =>
    responseError({ operation, status: 429, body, retryAfter, now: Date.UTC(2026, 0, 1) }).retryAfterMs;
  expect(wait()).toBe(7_000);
  expect(wait("3")).toBe(3_000);
  expect(wait("Thu, 01 Jan 2026 00:00:30 GMT")).toBe(30_000);
  expect(wait("0")).toBe(1_000);
  expect(wait("-5")).toBe(1_000);
  expect(wait("1000000000")).toBe(600_000);
  expect(wait("soon")).toBeUndefined();
});

test("any body at all makes an error, never an exception", () => {
  fc.assert(
    fc.property(fc.integer({ min: 300, max: 599 }), fc.jsonValue(), (status, body) => {
      expect(responseError({ operation, status, body, now: 0 }).status).toBe(status);
    }),
  );
});
