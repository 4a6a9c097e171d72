import { expect, test } from "vitest";
import { data, remove, synced } from "../../lab/kube/removed-sources.ts";
import type { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { StatusError } from "../../lab/simulated/api-server/status-error.ts";

const VALUES = { username: "ann", password: "secret", more: "1" };
const keys = data("username", "password", "more");
const rolloutRestart = [{ kind: "Deployment", name: "web" }];

/** Starts an operator that restarts a Deployment for a target whose type the spec has changed. */
async function retyped(): Promise<SimulatedWorld> {
  const scene = await synced(VALUES, { data: keys, rolloutRestart });
  scene.workloads.create("Deployment", "web");
  const target = { type: "kubernetes.io/basic-auth" };
  scene.follow({}, { data: keys, target, rolloutRestart });
  await scene.settle();
  return scene;
}

// Found by a review: the status kept the digest of the former bytes.
test("a workload is restarted when a key leaves a target whose type has changed", async () => {
  await using scene = await retyped();
  await remove(scene, VALUES, "password");
  expect(scene.outcome()).toBe("more=1 username=ann, TargetImmutable");
  await scene.settle(60_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
  await scene.replace();
  await scene.settle(3_600_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});

test("a workload is restarted for a removal whose status cannot be written immediately", async () => {
  await using scene = await retyped();
  scene.network = {
    send: ({ verb, resource }) => {
      const isStatus = verb === "update" && resource.kind === "VaultSecret";
      if (isStatus && scene.target()?.data?.["password"] === undefined)
        throw new StatusError(500, "InternalError");
    },
  };
  await remove(scene, VALUES, "password");
  scene.network = {};
  await scene.settle(180_000);
  expect(scene.outcome()).toBe("more=1 username=ann, TargetImmutable");
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});

test("a workload is restarted when a key leaves a former target that stays", async () => {
  await using scene = await synced(VALUES, { data: keys, rolloutRestart });
  scene.workloads.create("Deployment", "web");
  scene.vault().lists({ name: "username" }, { name: "password" });
  scene.follow({}, { data: keys, target: { name: "new" }, rolloutRestart });
  await scene.settle();
  await remove(scene, { username: "ann", password: "secret" }, "password");
  await scene.settle(60_000);
  expect(scene.outcome()).toBe("more=1 username=ann, SourceMissing");
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
  await scene.replace();
  await scene.settle(3_600_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});
