import { describe, expect, test } from "vitest";
import { syncItem, syncResource } from "../../../../test/lab/kube/sync-resource.ts";
import { KubeError, type KubeErrorDetails } from "../../kube/kube-error.ts";
import { writeFailure } from "./write-failure.ts";

const ownedBy = (manager: string | undefined, ...fields: string[]) =>
  fields.map((field) => ({ field, reason: "FieldManagerConflict", manager }));

/** The cause that a policy reports which rejects as invalid. */
const NO_FIELD = { field: "", reason: "" };

describe("writeFailure", () => {
  const resource = syncResource([syncItem("a")]);
  const rejected = (details: Omit<KubeErrorDetails, "operation">) =>
    writeFailure(new KubeError({ operation: "replace secrets shop/db", ...details }), resource);

  test.each(["type", "data", "binaryData", "immutable"])(
    "reports TargetImmutable for the field %s",
    (field) => {
      const failure = rejected({
        kind: "Invalid",
        status: 422,
        causes: [{ field, reason: "FieldValueForbidden" }],
      });
      expect(failure).toMatchObject({ condition: { reason: "TargetImmutable" } });
      expect(failure?.next).toEqual({ outcome: "done" });
    },
  );

  test.each(["data[tls.crt]", "metadata.name", "metadata.annotations"])(
    "reports TargetRejected for the field %s",
    (field) => {
      const failure = rejected({
        kind: "Invalid",
        status: 422,
        causes: [{ field, reason: "FieldValueInvalid" }],
      });
      expect(failure).toMatchObject({
        condition: { reason: "TargetRejected" },
        next: { wait: { for: "time", atMostMs: 60_000 } },
      });
      expect(failure).toMatchObject({
        condition: {
          message: `the API server rejected the Secret db: ${field} (FieldValueInvalid)`,
        },
      });
    },
  );

  test.each<[KubeErrorDetails["kind"], string, number | undefined]>([
    ["TooLarge", "TooLarge", undefined],
    ["Forbidden", "TargetForbidden", 60_000],
    ["QuotaExceeded", "QuotaExceeded", 60_000],
  ])("maps %s to %s", (kind, reason, atMostMs) => {
    const wait = atMostMs === undefined ? undefined : { for: "time", atMostMs };
    expect(rejected({ kind })).toMatchObject({
      condition: { ready: false, reason },
      next: { outcome: "done", ...(wait && { wait }) },
    });
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
  ])("returns undefined for %s, which the caller handles", (kind) => {
    expect(rejected({ kind })).toBeUndefined();
  });

  const rules: readonly { readonly field: string; readonly reason: string }[] = [
    { field: "metadata.labels", reason: "FieldValueInvalid" },
    { field: "data[a]", reason: "FieldValueTooLong" },
  ];

  test("reports TooLarge if one of several causes is a value that is too long", () => {
    expect(rejected({ kind: "Invalid", causes: rules })?.condition).toEqual({
      ready: false,
      reason: "TooLarge",
      message:
        "the API server rejected the Secret db as too large: split the content over several targets",
    });
  });

  test.each([
    { field: "metadata.annotations", reason: "FieldValueTooLong" },
    { field: "data[a]", reason: "FieldValueInvalid" },
  ])("does not report TooLarge for %j", (cause) => {
    expect(rejected({ kind: "Invalid", causes: [cause] })?.condition.reason).toBe("TargetRejected");
  });

  test("names all rejected fields, also if only one of them is immutable, with the remedy", () => {
    const causes = [
      { field: "metadata.labels", reason: "FieldValueInvalid" },
      { field: "type", reason: "FieldValueForbidden" },
    ];
    const fields = "metadata.labels (FieldValueInvalid), type (FieldValueForbidden)";
    expect(rejected({ kind: "Invalid", causes })?.condition.message).toBe(
      `the Secret db cannot be changed (${fields}): delete it; the operator recreates it`,
    );
    expect(rejected({ kind: "Invalid", causes: causes.slice(1) })?.condition.message).toBe(
      "the Secret db exists with another type, which Kubernetes never changes: set target.type to its type, or delete it; the operator recreates it",
    );
    const immutable = syncResource([syncItem("a")], {
      policy: { ...resource.policy, immutable: true },
    });
    const error = new KubeError({
      operation: "replace secrets shop/db",
      kind: "Invalid",
      causes: causes.slice(1),
    });
    expect(writeFailure(error, immutable)?.condition.message).toBe(
      "the Secret db exists with another type, which Kubernetes never changes: target.immutable is true; delete it, and the operator " +
        "recreates it with the current content. To follow the vault, unset target.immutable before",
    );
  });

  // Found by the simulation: the operator does not recreate what it merges keys into.
  test("does not promise to recreate an immutable object that keys are merged into", () => {
    const merged = syncResource([syncItem("a")], {
      policy: { ...resource.policy, creationPolicy: "Merge" },
    });
    const causes = [{ field: "data", reason: "FieldValueForbidden" }];
    const error = new KubeError({ operation: "apply secrets shop/db", kind: "Invalid", causes });
    expect(writeFailure(error, merged)?.condition).toMatchObject({
      reason: "TargetImmutable",
      message:
        "the Secret db cannot be changed (data (FieldValueForbidden)): delete it and create it again without immutable; creationPolicy Merge only adds keys to it",
    });
  });

  test("says what is missing for a denied request and an exceeded quota", () => {
    expect(rejected({ kind: "Forbidden" })?.condition.message).toBe(
      "permission denied: update secrets shop/db; add it to the RBAC rules of the operator's ServiceAccount",
    );
    expect(
      rejected({ kind: "Forbidden", deniedBy: "the ValidatingAdmissionPolicy no-targets" })
        ?.condition.message,
    ).toBe(
      "the ValidatingAdmissionPolicy no-targets denies to replace secrets shop/db: choose another target, or ask an administrator to change it",
    );
    expect(
      rejected({
        kind: "Invalid",
        deniedBy: "the admission webhook p.example.com",
        causes: [NO_FIELD],
      })?.condition,
    ).toEqual({
      ready: false,
      reason: "TargetForbidden",
      message:
        "the admission webhook p.example.com denies to replace secrets shop/db: choose another target, or ask an administrator to change it",
    });
    expect(rejected({ kind: "Invalid", causes: [NO_FIELD] })?.condition.message).toBe(
      "the API server rejected the Secret db: Invalid",
    );
    expect(rejected({ kind: "Forbidden", reason: "OwnerDenied" })?.condition.message).toBe(
      "permission denied: update vaultsecrets/finalizers; add it to the RBAC rules of the operator's ServiceAccount",
    );
    const unknown = rejected({ kind: "Forbidden", reason: "OwnerUnknown" });
    expect(unknown?.condition.message).toContain(
      "does not accept owners of the kind VaultSecret yet",
    );
    expect(unknown?.next).toEqual({ outcome: "done", wait: { for: "time", atMostMs: 5_000 } });
    expect(rejected({ kind: "QuotaExceeded" })?.condition.message).toBe(
      "a quota of the namespace shop does not allow the Secret db: raise the quota, or free some of it",
    );
  });

  const belongs = "the Secret db has keys that belong to other field managers: ";
  const remedy =
    ". Remove them there, choose other keys, or hand them over with the annotation vaultsync.dev/adopt: VaultSecret/db";

  test.each([
    [ownedBy("helm", ".data.a"), "a (helm)"],
    [
      ownedBy("helm", ".data.a", ".binaryData.b.data.c", ".metadata.labels.data.d"),
      "a (helm), b.data.c (helm), .metadata.labels.data.d (helm)",
    ],
    [
      [
        ...ownedBy("helm", ".data.a", ".data.b", ".data.c"),
        ...ownedBy("kubectl", ".data.d", ".data.e"),
      ],
      "a (helm), b (helm), c (helm) and 2 more",
    ],
    [[...ownedBy("helm", ".data.a"), ...ownedBy(undefined, ".metadata.uid")], "a (helm)"],
  ])("names up to three keys of other field managers: %#", (causes, keys) => {
    const failure = rejected({ kind: "Conflict", causes });
    expect(failure?.condition).toEqual({
      ready: false,
      reason: "TargetConflict",
      message: belongs + keys + remedy,
    });
    expect(failure?.next).toEqual({ outcome: "done" });
  });

  test("returns undefined for errors other than KubeError", () => {
    expect(writeFailure(new Error("bug"), resource)).toBeUndefined();
    expect(writeFailure("text", resource)).toBeUndefined();
  });
});
