import { describe, expect, test } from "vitest";
import { at } from "../../lab/simulated/workloads.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { simulateWorkloads } from "../../lab/simulated/api-server/simulate-workloads.ts";
import { forbidden, invalid, StatusError } from "../../lab/simulated/api-server/status-error.ts";
import type { WorkloadKind } from "../../../src/operator/api/rollout-restart.ts";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { readStatus } from "../../../src/operator/sync/stored-status.ts";
import { CONTENT_ANNOTATION, RESTART_STATE_ANNOTATION } from "../../../src/operator/api/names.ts";
import { workloadDescriptor } from "../../../src/operator/controllers/restart/workload.ts";

const WEB = { kind: "Deployment", name: "web" } as const;

/** Starts an operator that has restarted this workload for a change of the secret `db`. */
async function restarted(
  kind: WorkloadKind = "Deployment",
  spec: object = {},
): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop("db");
  scene.workloads.create(kind, "web", { spec });
  scene.follow({ password: "db" }, { rolloutRestart: [{ kind, name: "web" }] });
  await scene.settle();
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(35_000);
  expect(scene.workloads.count(kind, "web")).toBe(1);
  return scene;
}

const resultOf = (scene: SimulatedWorld): unknown => scene.workloads.shown("db")[0]?.result;
const messageOf = (scene: SimulatedWorld): string | undefined =>
  scene.workloads.shown("db")[0]?.message;

describe("the outcome of a restart", () => {
  test("is shown in the status, in events of workload and resource, and in the metric, once", async () => {
    await using scene = await restarted();
    expect(resultOf(scene)).toBe("Progressing");
    scene.workloads.report("Deployment", "web", {
      replicas: 3,
      updatedReplicas: 1,
      availableReplicas: 2,
    });
    await scene.settle();
    expect(resultOf(scene)).toBe("Progressing");
    scene.workloads.rollOut("web");
    await scene.settle();
    expect(resultOf(scene)).toBe("RolledOut");
    const events = scene.events.filter(({ action }) => action === "Restart");
    expect(
      events.map(({ regarding, type, reason }) => `${regarding.kind} ${type} ${reason}`),
    ).toEqual([
      "Deployment Normal WorkloadRestarted",
      "Deployment Normal RestartRolledOut",
      "VaultSecret Normal RestartRolledOut",
    ]);
    expect(events[0]?.note).toBe("restarted: the content of VaultSecret/db changed");
    expect(await scene.workloads.ended()).toEqual(["Deployment rolled_out"]);
    scene.takeRequests();
    await scene.replace();
    await scene.settle(120_000);
    scene.workloads.rollOut("web");
    await scene.settle(120_000);
    expect(await scene.workloads.ended()).toEqual([]);
    expect(scene.takeRequests()).toEqual([]);
    expect(scene.workloads.count("Deployment", "web")).toBe(1);
  });

  test("is never shown as an older one while the watch is behind", async () => {
    await using scene = await SimulatedWorld.shop("db");
    const { server } = scene;
    simulateWorkloads(server, 2_000);
    scene.network = { watchLagMs: () => 3_000 };
    await scene.replace();
    const results: unknown[] = [];
    server.onCommit(({ resource, after }) => {
      const [entry] = readStatus("VaultSecret", after?.["status"]).restarts ?? [];
      if (resource.kind === "VaultSecret" && entry !== undefined && results.at(-1) !== entry.result)
        results.push(entry.result);
    });
    scene.workloads.create("Deployment", "web");
    scene.follow({ password: "db" }, { rolloutRestart: [WEB] });
    await scene.settle(20_000);
    results.length = 0;
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle(60_000);
    expect(results).toEqual(["Progressing", "RolledOut"]);
  });

  test("is shown again after another writer of the status showed an older one", async () => {
    await using scene = await restarted();
    scene.workloads.rollOut("web");
    await scene.settle();
    const { metadata, status } = scene.resource();
    const [entry] = scene.workloads.shown("db");
    const outdated = { ...Object(status), restarts: [{ ...entry, result: "Progressing" }] };
    scene.server.replaceStatus(vaultSecretKind, metadata, outdated);
    await scene.settle();
    expect(resultOf(scene)).toBe("RolledOut");
  });

  test("is observed by the next operator if this one dies", async () => {
    await using scene = await restarted();
    await scene.stop();
    scene.workloads.rollOut("web");
    await scene.replace();
    await scene.settle();
    expect(resultOf(scene)).toBe("RolledOut");
    expect(await scene.workloads.ended()).toEqual(["Deployment rolled_out"]);
  });

  test("is Failed if a Deployment exceeds its deadline for progress", async () => {
    await using scene = await restarted();
    const conditions = [
      { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" },
    ];
    scene.workloads.report("Deployment", "web", { replicas: 3, updatedReplicas: 1, conditions });
    await scene.settle();
    expect(resultOf(scene)).toBe("Failed");
    expect(messageOf(scene)).toBe("the Deployment exceeded its progressDeadlineSeconds");
    expect(await scene.workloads.ended()).toEqual(["Deployment failed"]);
    scene.vault().lists({ name: "db", version: 3 });
    await scene.settle(40_000);
    scene.workloads.rollOut("web");
    await scene.settle();
    expect(resultOf(scene)).toBe("RolledOut");
    expect(messageOf(scene)).toBeUndefined();
  });

  test("is TimedOut after 15 minutes", async () => {
    await using scene = await restarted();
    await scene.settle(14 * 60_000);
    expect(resultOf(scene)).toBe("Progressing");
    await scene.settle(2 * 60_000);
    expect(resultOf(scene)).toBe("TimedOut");
    expect(await scene.workloads.ended()).toEqual(["Deployment timed_out"]);
    expect(scene.events.filter(({ reason }) => reason === "RestartTimedOut")).toHaveLength(2);
  });

  test("of a paused Deployment is open until it is resumed and rolled out", async () => {
    await using scene = await restarted("Deployment", { paused: true });
    await scene.settle(60 * 60_000);
    expect(resultOf(scene)).toBe("Progressing");
    expect(messageOf(scene)).toBe("the Deployment is paused: it rolls out when it is resumed");
    scene.workloads.patch("Deployment", "web", { spec: { paused: null } });
    await scene.settle();
    expect(resultOf(scene)).toBe("Progressing");
    expect(messageOf(scene)).toBeUndefined();
    scene.workloads.rollOut("web");
    await scene.settle();
    expect(resultOf(scene)).toBe("RolledOut");
  });

  test.each([
    [
      "StatefulSet",
      { readyReplicas: 2, updatedReplicas: 2, currentRevision: "b", updateRevision: "b" },
    ],
    ["DaemonSet", { updatedNumberScheduled: 3, desiredNumberScheduled: 3, numberAvailable: 3 }],
    ["Rollout", { phase: "Healthy" }],
  ] as const)("of a %s is observed", async (kind, status) => {
    await using scene = await restarted(kind);
    scene.workloads.report(kind, "web", status);
    await scene.settle();
    expect(await scene.workloads.ended()).toEqual([`${kind} rolled_out`]);
    expect(scene.workloads.shown("db")).toMatchObject([{ kind, name: "web", result: "RolledOut" }]);
  });
});

describe("a workload", () => {
  test("that is deleted is NotFound, and one recreated under its name is not restarted", async () => {
    await using scene = await restarted();
    scene.workloads.delete("Deployment", "web");
    await scene.settle();
    expect(scene.workloads.shown("db")).toEqual([{ ...WEB, result: "NotFound" }]);
    scene.vault().lists({ name: "db", version: 3 });
    await scene.settle(5_000);
    scene.workloads.create("Deployment", "web");
    await scene.settle(120_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(1);
    expect(scene.workloads.shown("db")).toEqual([]);
  });

  test("that is deleted immediately before it is read is no failure of the reconcile", async () => {
    await using scene = await restarted();
    let isRead = false;
    scene.network = {
      send: ({ verb, resource }) => {
        if (isRead || verb !== "get" || resource.kind !== "Deployment") return;
        isRead = true;
        scene.workloads.delete("Deployment", "web");
      },
      watchLagMs: () => 3_000,
    };
    await scene.settle(120_000);
    expect(isRead).toBe(true);
    expect(scene.workloads.shown("db")).toEqual([{ ...WEB, result: "NotFound" }]);
    expect(scene.log.filter(({ message }) => message === "reconcile failed")).toEqual([]);
  });

  test("that is rolled back is restarted for the next content only", async () => {
    await using scene = await restarted();
    // What kubectl rollout undo does: the template and the annotations of the former ReplicaSet.
    scene.workloads.patch("Deployment", "web", {
      metadata: { annotations: { [RESTART_STATE_ANNOTATION]: null } },
      spec: { template: { metadata: { annotations: { "vaultsync.dev/content": "former" } } } },
    });
    await scene.settle(120_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(2);
    expect(scene.workloads.recorded("Deployment", "web")).toEqual(["VaultSecret/db"]);
    scene.vault().lists({ name: "db", version: 3 });
    await scene.settle(60_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(3);
  });

  test("keeps the annotations of other managers", async () => {
    await using scene = await SimulatedWorld.shop("db");
    scene.workloads.create("Deployment", "web");
    scene.follow({ password: "db" }, { rolloutRestart: [WEB] });
    await scene.settle();
    const restartedAt = { "kubectl.kubernetes.io/restartedAt": "2026-11-21T10:00:00Z" };
    scene.workloads.patch("Deployment", "web", {
      spec: { template: { metadata: { annotations: restartedAt } } },
    });
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle(60_000);
    const annotations = at(
      scene.workloads.get("Deployment", "web"),
      "spec",
      "template",
      "metadata",
      "annotations",
    );
    expect(annotations).toMatchObject({
      ...restartedAt,
      note: "theirs",
      "vaultsync.dev/content": expect.any(String) as unknown,
    });
  });

  test("whose template lost the annotation is not rolled out by a record", async () => {
    await using scene = await restarted();
    // What an apply by another tool does that replaces the annotations of the template.
    const annotations = { [CONTENT_ANNOTATION]: null };
    scene.workloads.patch("Deployment", "web", {
      spec: { template: { metadata: { annotations } } },
    });
    await scene.settle();
    const { generation } = scene.workloads.get("Deployment", "web").metadata;
    scene.workloads.rollOut("web");
    await scene.settle();
    expect(resultOf(scene)).toBe("RolledOut");
    expect(scene.workloads.get("Deployment", "web").metadata.generation).toBe(generation);
  });
});

describe("missing permissions", () => {
  const deployments = workloadDescriptor.Deployment;

  test("to list are shown, and the workload is followed within five minutes after they are granted", async () => {
    await using scene = await SimulatedWorld.shop("db");
    scene.workloads.create("Deployment", "web");
    scene.server.authorize = ({ resource }) => resource.kind !== "Deployment";
    await scene.replace();
    scene.follow({ password: "db" }, { rolloutRestart: [WEB] });
    await scene.settle();
    expect(scene.workloads.shown("db")).toMatchObject([{ ...WEB, result: "Failed" }]);
    expect(messageOf(scene)).toBe(
      "the operator may not list deployments: grant it get, list, watch and patch, as deploy/chart/files/base/rbac.yaml does",
    );
    await scene.settle(620_000);
    const fields = { resource: "deployments", namespace: "*", reason: "Forbidden" };
    expect(
      scene.log.filter(({ message }) => message === "workloads are not watched"),
    ).toMatchObject([{ fields }]);
    scene.server.authorize = () => true;
    await scene.settle(301_000);
    expect(scene.workloads.shown("db")).toEqual([]);
    expect(scene.server.watches(deployments)).toHaveLength(1);
  });

  test("to list in one of some namespaces are shown with the remedy for a namespace", async () => {
    await using scene = await SimulatedWorld.shop("db");
    scene.server.authorize = ({ resource }) => resource.kind !== "Deployment";
    await scene.replace({ namespaces: ["shop"] });
    scene.follow({ password: "db" }, { rolloutRestart: [WEB] });
    await scene.settle();
    expect(messageOf(scene)).toBe(
      "the operator may not list deployments: grant it get, list, watch and patch, as deploy/namespaced/tenant does",
    );
  });

  const byPolicy = `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'no-restarts' with binding 'b' denied request`;
  test.each([
    [
      "a missing permission",
      forbidden(),
      "the API server denied to patch the Deployment: grant the operator get and patch on deployments",
    ],
    [
      "a policy",
      forbidden(byPolicy),
      "the ValidatingAdmissionPolicy no-restarts denies to patch the Deployment",
    ],
    [
      "an admission webhook",
      invalid({ field: "spec", reason: "FieldValueInvalid" }),
      "(Invalid): check the Deployment and the admission policies",
    ],
    ["a limit", new StatusError(413, "RequestEntityTooLarge"), "(TooLarge): check"],
    ["a kind that is not served", new StatusError(404, ""), "(NotServed): check"],
  ])(
    "to patch are shown as Failed once, until the restart succeeds: %s",
    async (_, error, message) => {
      await using scene = await SimulatedWorld.shop("db");
      scene.workloads.create("Deployment", "web");
      scene.follow({ password: "db" }, { rolloutRestart: [WEB] });
      await scene.settle();
      let isDenied = true;
      scene.network = {
        send: ({ verb, resource }) => {
          if (isDenied && verb === "patch" && resource.kind === "Deployment") throw error;
        },
      };
      scene.vault().lists({ name: "db", version: 2 });
      await scene.settle(200_000);
      expect(scene.workloads.shown("db")).toEqual([
        { ...WEB, result: "Failed", message: expect.stringContaining(message) as unknown },
      ]);
      expect(scene.events.filter(({ reason }) => reason === "RestartFailed")).toHaveLength(2);
      expect(await scene.workloads.ended()).toEqual(["Deployment failed"]);
      isDenied = false;
      await scene.settle(90_000);
      expect(scene.workloads.count("Deployment", "web")).toBe(1);
      expect(resultOf(scene)).toBe("Progressing");
      expect(messageOf(scene)).toBeUndefined();
    },
  );

  test("a kind that the API server does not serve is shown, and followed when it is served", async () => {
    await using scene = await SimulatedWorld.shop("db");
    scene.server.unserve(workloadDescriptor.Rollout);
    await scene.replace();
    scene.follow({ password: "db" }, { rolloutRestart: [{ kind: "Rollout", name: "web" }] });
    await scene.settle();
    expect(messageOf(scene)).toBe(
      "the API server does not serve the kind Rollout: install its CRD",
    );
    scene.server.serve(workloadDescriptor.Rollout);
    scene.workloads.create("Rollout", "web");
    await scene.settle(301_000);
    expect(scene.workloads.shown("db")).toEqual([]);
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle(40_000);
    expect(scene.workloads.count("Rollout", "web")).toBe(1);
  });
});
