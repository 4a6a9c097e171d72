import * as fc from "fast-check";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { failureStatus } from "../../../../test/lab/loopback-server.ts";
import type { KubeErrorKind } from "../kube-error.ts";
import { responseError } from "./response-error.ts";

const CANARY = "canary-1d70b2c4e9f85a36";
const operation = "create secrets a/s";

function kindOf(status: number, body: unknown): KubeErrorKind {
  return responseError({ operation, status, body, now: 0 }).kind;
}

test.each<[string, number, object, KubeErrorKind]>([
  ["a missing object", 404, failureStatus(404, "NotFound"), "NotFound"],
  ["a name that is taken", 409, failureStatus(409, "AlreadyExists"), "AlreadyExists"],
  ["another resourceVersion", 409, failureStatus(409, "Conflict"), "Conflict"],
  ["an old resourceVersion", 410, failureStatus(410, "Expired"), "Gone"],
  ["a failed validation", 422, failureStatus(422, "Invalid"), "Invalid"],
  ["a malformed object", 400, failureStatus(400, "BadRequest"), "Invalid"],
  [
    "too much data",
    422,
    failureStatus(422, "Invalid", { causes: [{ reason: "FieldValueTooLong", field: "data" }] }),
    "TooLarge",
  ],
  ["too large a body", 413, failureStatus(413, "RequestEntityTooLarge"), "TooLarge"],
  ["a missing permission", 403, failureStatus(403, "Forbidden"), "Forbidden"],
  [
    "an exceeded quota",
    403,
    failureStatus(403, "Forbidden", {}, 'secrets "s" is forbidden: exceeded quota: q, used: 1'),
    "QuotaExceeded",
  ],
  [
    "a dying namespace",
    403,
    failureStatus(403, "Forbidden", {
      causes: [{ reason: "NamespaceTerminating", field: "metadata.namespace" }],
    }),
    "NamespaceTerminating",
  ],
  ["no credentials", 401, failureStatus(401, "Unauthorized"), "Unauthorized"],
  ["flow control", 429, failureStatus(429, "TooManyRequests"), "TooManyRequests"],
  ["a slow etcd", 500, failureStatus(500, "ServerTimeout"), "Timeout"],
  ["a gateway's timeout", 504, failureStatus(504, "Timeout"), "Timeout"],
  ["an internal error", 500, failureStatus(500, "InternalError"), "Unavailable"],
  ["a server that stops", 503, failureStatus(503, "ServiceUnavailable"), "Unavailable"],
])("maps %s (%i)", (_, status, body, kind) => {
  expect(kindOf(status, body)).toBe(kind);
});

test.each([
  ["if an ownerReference refers to a resource you can't set finalizers on: , <nil>", "OwnerDenied"],
  [
    "in this case because cannot find RESTMapping for APIVersion vaultsync.dev/v1alpha1 Kind VaultSecret: …",
    "OwnerUnknown",
  ],
])("an owner that admission denies has a reason: %s", (why, reason) => {
  const body = failureStatus(
    403,
    "Forbidden",
    {},
    `secrets "s" is forbidden: cannot set blockOwnerDeletion ${why}`,
  );
  expect(responseError({ operation, status: 403, body, now: 0 })).toMatchObject({
    kind: "Forbidden",
    reason,
  });
});

test("a 404 without a Status does not mean NotFound", () => {
  for (const body of [undefined, null, [], "404 page not found", { kind: "Error" }])
    expect(kindOf(404, body)).toBe("Unexpected");
});

test("a redirect or another unknown status is Unexpected", () => {
  for (const status of [301, 302, 307, 405, 406, 415])
    expect(kindOf(status, undefined)).toBe("Unexpected");
});

test("an error names the rejected field and the reason, not the value or the server's message", () => {
  const causes = [
    { reason: "FieldValueInvalid", field: "data[ca.crt]", message: `Invalid value: "${CANARY}"` },
  ];
  const error = responseError({
    operation,
    status: 422,
    body: failureStatus(422, "Invalid", { causes }, CANARY),
    now: 0,
  });
  expect(error.causes).toEqual([{ reason: "FieldValueInvalid", field: "data[ca.crt]" }]);
  expect(error.message).toBe("create secrets a/s: Invalid (422 Invalid)");
  expect(inspect(error, { depth: 10 }) + JSON.stringify(error) + String(error.stack)).not.toContain(
    CANARY,
  );
});

test.each([
  [{ onlyReads: true, status: 403 }, `User "x" cannot list resource "secrets"${"?".repeat(2)}`],
  [{ onlyReads: true, status: 401 }, `User "x" cannot list resource "secrets"${"?".repeat(2)}`],
  [{ onlyReads: true, status: 422 }, undefined],
  [{ onlyReads: false, status: 403 }, undefined],
])(
  "the server's words are passed on for a denied read only: %j",
  ({ onlyReads, status }, expected) => {
    const body = failureStatus(
      status,
      "Forbidden",
      {},
      'User "x" cannot list resource "secrets"\u0007\n',
    );
    expect(responseError({ operation, status, body, onlyReads, now: 0 }).explanation).toBe(
      expected,
    );
  },
);

test("the server's words about a denied read are short", () => {
  const body = failureStatus(403, "Forbidden", {}, "x".repeat(1_000));
  expect(
    responseError({ operation, status: 403, body, onlyReads: true, now: 0 }).explanation,
  ).toHaveLength(300);
});

test.each([
  [
    `secrets "s" is forbidden: ValidatingAdmissionPolicy 'p.example.com' with binding 'b' denied request: ${CANARY}`,
    "the ValidatingAdmissionPolicy p.example.com",
  ],
  [
    `secrets "s" is forbidden: ValidatingAdmissionPolicy 'A ${CANARY}' with binding 'b' denied request`,
    undefined,
  ],
  [
    `admission webhook "p.example.com" denied the request: ValidatingAdmissionPolicy '${CANARY}' with binding 'b'`,
    "the admission webhook p.example.com",
  ],
  [`admission webhook "p ${CANARY}" denied the request: no`, undefined],
])("of a denied write only the name of what denied it is passed on: %s", (message, denier) => {
  const error = responseError({
    operation,
    status: 403,
    body: failureStatus(403, "Forbidden", {}, message),
    now: 0,
  });
  expect(error.kind).toBe("Forbidden");
  expect(error.deniedBy).toEqual(denier);
  expect(error.explanation).toBeUndefined();
});

test("a reason of more than one word is dropped", () => {
  const error = responseError({
    operation,
    status: 403,
    body: failureStatus(403, `because of ${CANARY}`),
    now: 0,
  });
  expect(error.reason).toBe("");
});

test("retryAfterMs is read from the header or else from the Status, and is clamped", () => {
  const body = failureStatus(429, "TooManyRequests", { retryAfterSeconds: 7 });
  const wait = (retryAfter?: string): number | undefined =>
    responseError({ operation, status: 429, body, retryAfter, now: Date.UTC(2026, 0, 1) })
      .retryAfterMs;
  expect(wait()).toBe(7_000);
  expect(wait("3")).toBe(3_000);
  expect(wait("Thu, 01 Jan 2026 00:00:30 GMT")).toBe(30_000);
  expect(wait("0")).toBe(1_000);
  expect(wait("-5")).toBe(1_000);
  expect(wait("1000000000")).toBe(600_000);
  expect(wait("soon")).toBeUndefined();
});

test("responseError returns an error for any body and never throws", () => {
  fc.assert(
    fc.property(fc.integer({ min: 300, max: 599 }), fc.jsonValue(), (status, body) => {
      expect(responseError({ operation, status, body, now: 0 }).status).toBe(status);
    }),
  );
});
