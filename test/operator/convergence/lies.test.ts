import { expect, test } from "vitest";
import { change, MINUTE, notRestarted, started, TARGET, TRUE, waiting } from "./scene.ts";

test("a Deployment whose pods are replaced converges when the last old pod is gone", async () => {
  await using scene = await started();
  const { world, pods, converged } = scene;
  world.workloads.create("Deployment", "web");
  for (const n of [1, 2])
    pods.create(`web-a-${n}`, { owner: "Deployment/web", hash: "a", env: [TARGET] });
  await world.settle();
  await change(scene);
  expect(converged()).toBe(waiting("Deployment web"));
  await world.settle(30_000);
  expect(world.workloads.count("Deployment", "web")).toBe(1);
  pods.create("web-b-1", { owner: "Deployment/web", hash: "b", env: [TARGET] });
  pods.remove("web-a-1");
  await world.settle(MINUTE);
  expect(converged()).toBe(waiting("Deployment web"));
  pods.create("web-b-2", { owner: "Deployment/web", hash: "b", env: [TARGET] });
  pods.remove("web-a-2");
  world.workloads.rollOut("web");
  await world.settle(10_000);
  expect(converged()).toBe(TRUE);
  const events = world.events.filter(({ reason }) => reason === "Converged");
  expect(events.map(({ note }) => note)).toEqual([
    "every pod that uses the target runs db 1",
    "every pod that uses the target runs db 2",
  ]);
});

test("a pod that is stuck terminating counts until it is gone", async () => {
  await using scene = await started();
  const { world, pods, converged } = scene;
  world.workloads.create("Deployment", "web");
  pods.create("web-a", { owner: "Deployment/web", hash: "a", env: [TARGET] });
  await change(scene, 2, 60_000);
  pods.create("web-b", { owner: "Deployment/web", hash: "b", env: [TARGET] });
  pods.terminate("web-a");
  world.workloads.rollOut("web");
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(waiting("Deployment web"));
  pods.remove("web-a");
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(TRUE);
});

test.each([
  ["a paused Deployment", "Deployment", { paused: true }],
  ["a StatefulSet with OnDelete", "StatefulSet", { updateStrategy: { type: "OnDelete" } }],
] as const)("%s converges when a user replaces its pods", async (_, kind, spec) => {
  await using scene = await started({ rolloutRestart: [{ kind, name: "web" }] });
  const { world, pods, converged } = scene;
  const parts = { owner: `${kind}/web`, env: [TARGET] };
  world.workloads.create(kind, "web", { spec });
  pods.create("web-0", { ...parts, hash: "a" });
  await change(scene, 2, 30 * MINUTE);
  expect(world.workloads.count(kind, "web")).toBe(1);
  expect(converged()).toBe(waiting(`${kind} web`));
  pods.remove("web-0");
  pods.create("web-0", { ...parts, hash: "b" });
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(TRUE);
});

test("a bare pod is named as one that nothing restarts, until it is replaced", async () => {
  await using scene = await started();
  const { world, pods, converged } = scene;
  pods.create("debug", { env: [TARGET] });
  await change(scene, 2, 40 * MINUTE);
  expect(converged()).toBe(notRestarted("Pod debug"));
  pods.remove("debug");
  pods.create("debug", { env: [TARGET] });
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(TRUE);
});

test("a Job counts while it runs, and not when it has completed", async () => {
  await using scene = await started();
  const { world, pods, converged } = scene;
  pods.create("import-1", { owner: "Job/import", env: [TARGET] });
  await change(scene, 2, 30 * MINUTE);
  expect(converged()).toBe(waiting("Job import"));
  pods.complete("import-1");
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(TRUE);
});

test("a volume follows after the sync period of the kubelets, a subPath at a restart", async () => {
  await using scene = await started();
  const { world, pods, converged } = scene;
  await world.settle(5 * MINUTE);
  pods.create("web-0", { owner: "StatefulSet/web", volumes: [TARGET] });
  pods.create("api-0", { owner: "StatefulSet/api", subPaths: [TARGET] });
  await change(scene, 2, 80_000);
  expect(converged()).toBe(
    "False NotRestarted: older content may still run: nothing restarts StatefulSet api; waiting for StatefulSet web",
  );
  await world.settle(MINUTE);
  expect(converged()).toBe(notRestarted("StatefulSet api"));
  pods.remove("api-0");
  await world.settle(5 * MINUTE);
  expect(converged()).toBe(TRUE);
});

test("the files of a pod do not follow while it is not ready", async () => {
  await using scene = await started();
  const { world, pods, converged } = scene;
  pods.create("web-0", { owner: "StatefulSet/web", volumes: [TARGET], isUnready: true });
  await change(scene, 2, 10 * MINUTE);
  expect(converged()).toBe(waiting("StatefulSet web"));
  pods.startContainer("web-0");
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(TRUE);
});

test("a container that starts after the change has its content", async () => {
  await using scene = await started();
  const { world, pods, converged } = scene;
  pods.create("web-0", { owner: "StatefulSet/web", env: [TARGET], isWaiting: true });
  await change(scene);
  expect(converged()).toBe(notRestarted("StatefulSet web"));
  await world.settle(2 * MINUTE);
  pods.startContainer("web-0");
  await world.settle(5 * MINUTE);
  expect(converged()).toBe(TRUE);
});

test("a container that waited for the first content of the target has it", async () => {
  await using scene = await started();
  const { world, pods, converged } = scene;
  const web = { owner: "StatefulSet/web", env: ["Secret/new"], isWaiting: true };
  pods.create("web-0", web);
  await world.settle(MINUTE);
  world.follow({ password: "db" }, { name: "new" });
  await world.settle(6_000);
  pods.startContainer("web-0");
  await world.settle(MINUTE);
  expect(converged()).toBe("absent");
  expect(world.condition("Converged", "new")?.status).toBe("True");
});

test("a container that starts immediately after a change may have cached content", async () => {
  await using scene = await started();
  const { world, pods, converged } = scene;
  pods.create("web-0", { owner: "StatefulSet/web", env: [TARGET], isWaiting: true });
  await world.settle(MINUTE);
  await change(scene);
  pods.startContainer("web-0");
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(notRestarted("StatefulSet web"));
});

test("a volume of an immutable target does not follow when the target is recreated", async () => {
  await using scene = await started({ target: { immutable: true } });
  const { world, pods, converged } = scene;
  pods.create("web-0", { owner: "StatefulSet/web", volumes: [TARGET] });
  await change(scene);
  world.deleteTarget();
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(notRestarted("StatefulSet web"));
});

test("a new pod next to one with the former content of an immutable target has that too", async () => {
  await using scene = await started({ target: { immutable: true } });
  const { world, pods, converged } = scene;
  const web = (hash: string, node: string) =>
    pods.create(`web-${hash}`, { owner: "Deployment/web", hash, node, env: [TARGET] });
  web("a", "first");
  await change(scene);
  world.deleteTarget();
  await world.settle(MINUTE);
  // Its kubelet knows the former Secret as long as a pod of the node uses it.
  web("b", "first");
  web("c", "second");
  await world.settle(MINUTE);
  pods.remove("web-a");
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(notRestarted("Deployment web"));
  pods.remove("web-b");
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(TRUE);
});

// Found by a review: the container has what its kubelet keeps of the former Secret.
test("a container that restarts after an immutable target was recreated has the former content", async () => {
  await using scene = await started({ target: { immutable: true } });
  const { world, pods, converged } = scene;
  const web = { owner: "StatefulSet/web", node: "first", env: [TARGET] };
  pods.create("web-0", web);
  await change(scene);
  world.deleteTarget();
  pods.create("web-1", { ...web, isWaiting: true });
  await world.settle(5 * MINUTE);
  pods.startContainer("web-0");
  pods.startContainer("web-1");
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(notRestarted("StatefulSet web"));
  pods.remove("web-0");
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(notRestarted("StatefulSet web"));
  pods.remove("web-1");
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(TRUE);
});

test("a pod that waited for an immutable target leaves no former content on its node", async () => {
  await using scene = await started({ target: { immutable: true } });
  const { world, pods, converged } = scene;
  world.deleteTarget();
  pods.create("web-0", { owner: "StatefulSet/web", node: "first", env: [TARGET], isWaiting: true });
  await world.settle(20_000);
  pods.create("web-1", { owner: "StatefulSet/web", node: "first", env: [TARGET] });
  pods.startContainer("web-0");
  await world.settle(10 * MINUTE);
  expect(converged()).toBe(TRUE);
});

test("a Deployment with an old pod after its rollout is not restarted again", async () => {
  await using scene = await started();
  const { world, pods, converged } = scene;
  world.workloads.create("Deployment", "web");
  pods.create("web-a", { owner: "Deployment/web", hash: "a", env: [TARGET] });
  await world.settle();
  await change(scene, 2, 35_000);
  expect(world.workloads.count("Deployment", "web")).toBe(1);
  expect(converged()).toBe(waiting("Deployment web"));
  world.workloads.rollOut("web");
  await world.settle(MINUTE);
  expect(converged()).toBe(notRestarted("Deployment web"));
});

test("a version that came and went before a restart was due restarts nothing, and may run", async () => {
  const rolloutRestart = [{ kind: "Deployment", name: "web" }];
  await using scene = await started({ rolloutRestart });
  const { world, pods, converged } = scene;
  world.workloads.create("Deployment", "web");
  pods.create("web-a-1", { owner: "Deployment/web", hash: "a", env: [TARGET] });
  await world.settle();
  await change(scene, 2, 5_000);
  pods.create("web-a-2", { owner: "Deployment/web", hash: "a", env: [TARGET] });
  world.follow({ password: { key: "db", version: 1 } }, { rolloutRestart });
  await world.settle(10 * MINUTE);
  expect(world.workloads.count("Deployment", "web")).toBe(0);
  expect(converged()).toBe(notRestarted("Deployment web"));
});

test("a Deployment is not restarted because the resource names another one", async () => {
  await using scene = await started();
  const { world, pods, converged } = scene;
  for (const name of ["web", "api"]) world.workloads.create("Deployment", name);
  pods.create("api-a", { owner: "Deployment/api", hash: "a", env: [TARGET] });
  await world.settle();
  await change(scene);
  expect(converged()).toBe(notRestarted("Deployment api"));
});
