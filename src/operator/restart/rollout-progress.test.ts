import { describe, expect, test } from "vitest";
import { rolloutProgress } from "./rollout-progress.ts";

const generation = { metadata: { generation: 3 } };
const deployment = (status: object, spec: object = {}): object => ({
  ...generation,
  spec: { replicas: 2, ...spec },
  status: { observedGeneration: 3, ...status },
});
const done = { replicas: 2, updatedReplicas: 2, availableReplicas: 2 };

describe("rolloutProgress", () => {
  test.each([
    ["all replicas are new and available", done, "RolledOut"],
    ["an older generation was observed", { ...done, observedGeneration: 2 }, "Progressing"],
    ["an old replica is left", { ...done, replicas: 3 }, "Progressing"],
    ["a replica is not available", { ...done, availableReplicas: 1 }, "Progressing"],
    [
      "a replica is old",
      { ...done, updatedReplicas: 1, availableReplicas: 1, replicas: 1 },
      "Progressing",
    ],
    [
      "the deadline was exceeded",
      {
        ...done,
        conditions: [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }],
      },
      "Failed",
    ],
    [
      "another condition is false",
      { ...done, conditions: [{ type: "Available", status: "False", reason: "x" }] },
      "RolledOut",
    ],
  ] as const)("of a Deployment: %s", (_, status, result) => {
    expect(rolloutProgress("Deployment", deployment(status)).result).toBe(result);
  });

  test("of a Deployment without replicas is RolledOut, and of one that names none counts one", () => {
    expect(rolloutProgress("Deployment", deployment({}, { replicas: 0 })).result).toBe("RolledOut");
    const unset = { ...generation, spec: {}, status: { observedGeneration: 3 } };
    expect(rolloutProgress("Deployment", unset).result).toBe("Progressing");
  });

  const ready = { readyReplicas: 2, updatedReplicas: 1, currentRevision: "a", updateRevision: "b" };
  test.each([
    ["has the update revision", { ...ready, currentRevision: "b" }, {}, "RolledOut"],
    ["has another current revision", ready, {}, "Progressing"],
    [
      "has a pod that is not ready",
      { ...ready, currentRevision: "b", readyReplicas: 1 },
      {},
      "Progressing",
    ],
    ["is updated above the partition", ready, { partition: 1 }, "RolledOut"],
    [
      "is not updated above the partition",
      { ...ready, updatedReplicas: 0 },
      { partition: 1 },
      "Progressing",
    ],
  ] as const)("of a StatefulSet that %s", (_, status, rollingUpdate, result) => {
    const workload = deployment(status, {
      updateStrategy: { type: "RollingUpdate", rollingUpdate },
    });
    expect(rolloutProgress("StatefulSet", workload).result).toBe(result);
  });

  test.each([
    [
      "is scheduled and available",
      { updatedNumberScheduled: 2, desiredNumberScheduled: 2, numberAvailable: 2 },
      "RolledOut",
    ],
    [
      "has an old pod",
      { updatedNumberScheduled: 1, desiredNumberScheduled: 2, numberAvailable: 2 },
      "Progressing",
    ],
    [
      "has a pod that is not available",
      { updatedNumberScheduled: 2, desiredNumberScheduled: 2, numberAvailable: 1 },
      "Progressing",
    ],
  ] as const)("of a DaemonSet that %s", (_, status, result) => {
    expect(rolloutProgress("DaemonSet", deployment(status)).result).toBe(result);
  });

  test.each([
    [{ phase: "Healthy" }, { result: "RolledOut" }],
    [
      { phase: "Healthy", observedGeneration: "2" },
      { result: "Progressing", paused: false },
    ],
    [{ phase: "Progressing" }, { result: "Progressing", paused: false }],
    [
      { phase: "Paused" },
      { result: "Progressing", paused: true, message: "the Rollout is paused" },
    ],
    [
      { phase: "Degraded", message: "aborted" },
      { result: "Failed", message: "the Rollout is Degraded: aborted" },
    ],
    [
      { phase: "Degraded" },
      { result: "Failed", message: "the Rollout is Degraded: see its status" },
    ],
  ] as const)("of a Rollout with the status %j", (status, progress) => {
    expect(rolloutProgress("Rollout", deployment({ observedGeneration: "3", ...status }))).toEqual(
      progress,
    );
  });

  test("waits without a deadline for a paused workload, and for one whose pods a user deletes", () => {
    expect(rolloutProgress("Deployment", deployment(done, { paused: true }))).toMatchObject({
      paused: true,
    });
    const old = { updatedNumberScheduled: 0, desiredNumberScheduled: 2, numberAvailable: 2 };
    const onDelete = deployment(old, { updateStrategy: { type: "OnDelete" } });
    expect(rolloutProgress("DaemonSet", onDelete)).toMatchObject({ paused: true });
  });

  // Found by a review: the result stayed open after the user had deleted all pods.
  test.each([
    ["StatefulSet", { readyReplicas: 2, updatedReplicas: 2, currentRevision: "a" }],
    ["DaemonSet", { updatedNumberScheduled: 2, desiredNumberScheduled: 2, numberAvailable: 2 }],
  ] as const)("of a %s whose pods a user has deleted is RolledOut", (kind, replaced) => {
    const updateStrategy = { type: "OnDelete" };
    const of = (status: object) =>
      rolloutProgress(kind, deployment({ updateRevision: "b", ...status }, { updateStrategy }));
    expect(of(replaced)).toEqual({ result: "RolledOut" });
    expect(of({ ...replaced, observedGeneration: 2 })).toMatchObject({ paused: true });
    expect(of({ ...replaced, updatedReplicas: 1, updatedNumberScheduled: 1 })).toMatchObject({
      paused: true,
    });
  });

  test.each([
    null,
    1,
    {},
    { metadata: {} },
    { metadata: { generation: "x" }, spec: null, status: [] },
  ])("of the malformed object %j is Progressing", (object) =>
    expect(rolloutProgress("Deployment", object).result).toBe("Progressing"),
  );
});
