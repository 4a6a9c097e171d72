import { workloadDescriptor } from "../../../src/operator/controllers/restart/workload.ts";
import { simulateWorkloads } from "../../lab/simulated/api-server/simulate-workloads.ts";
import { PODS, SECRETS } from "../../../src/operator/kube/resource.ts";
import { connect, type Scenario, sync } from "./scenario.ts";
import { testScenarios } from "./test-scenarios.ts";
import { TEAM, type World } from "./world.ts";

const { Deployment } = workloadDescriptor;
const WEB = { kind: "Deployment", name: "web" };

const WINDOW_MS = 30_000;

/**
 * Creates a Deployment that another client scales, and a resource that restarts it for each of
 * these secrets.
 */
function restarting(...names: readonly string[]): (world: World) => void {
  return (world) => {
    simulateWorkloads(world.server, 2_000);
    let restartedAt = -Infinity;
    world.server.onCommit(({ resource, before, after, user }) => {
      if (resource.kind !== "Deployment" || before === undefined || after === undefined) return;
      const [was, is] = [before, after].map(({ spec }) =>
        JSON.stringify((spec as { template: object }).template),
      );
      const sinceMs = world.clock.monotonic() - restartedAt;
      if (was !== is && sinceMs < WINDOW_MS)
        world.violations.push(`${user} restarted ${after.metadata.name} again after ${sinceMs} ms`);
      if (was !== is) restartedAt = world.clock.monotonic();
      if (
        user !== "user" &&
        (before["spec"] as object)["replicas" as never] !==
          (after["spec"] as object)["replicas" as never]
      )
        world.violations.push(`${user} scaled ${after.metadata.name}`);
    });
    world.write(...names);
    connect(world);
    world.edit(Deployment, "web", (object) => ({
      ...object,
      apiVersion: "apps/v1",
      spec: { replicas: 1, template: { metadata: { labels: { app: "web" } }, spec: {} } },
    }));
    sync(world, names, {}, { rolloutRestart: [WEB] });
  };
}

const scale = (world: World): void =>
  world.edit(Deployment, "web", (object) => ({
    ...object,
    spec: { ...(object["spec"] as object), replicas: 5 },
  }));

/** Replaces a pod without a controller that reads the target by env, soon after each change of it. */
function replacingPods(world: World): void {
  const ref = { namespace: TEAM, name: "debug" };
  const replace = (): void => {
    if (world.server.find(PODS, ref) !== undefined) world.server.erase(PODS, ref);
    const envFrom = [{ secretRef: { name: "db" } }];
    world.server.create(PODS, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: ref,
      spec: { containers: [{ name: "app", envFrom }] },
    });
  };
  world.server.onCommit(({ resource, before, after }) => {
    const isChange = JSON.stringify(before?.["data"]) !== JSON.stringify(after?.["data"]);
    if (resource.kind === SECRETS.kind && after?.metadata.name === "db" && isChange)
      world.clock.timer(3_000, replace);
  });
  world.write("password");
  connect(world);
  sync(world, ["password"]);
}

const scenarios: readonly Scenario[] = [
  {
    name: "a pod that is replaced proves that a new version is in use",
    setUp: replacingPods,
    acts: [{ act: (world) => world.write("password") }],
    recordMs: 30_000,
  },
  {
    name: "a new version restarts a Deployment",
    setUp: restarting("password"),
    acts: [{ act: (world) => world.write("password") }, { atMs: 20_000, act: scale }],
    recordMs: 60_000,
  },
  {
    name: "several new versions within the quiet window restart a Deployment",
    setUp: restarting("user", "password"),
    acts: [
      { act: (world) => world.write("password") },
      { atMs: 10_000, act: (world) => world.write("user") },
      { atMs: 20_000, act: (world) => world.write("password") },
    ],
    recordMs: 60_000,
  },
  {
    name: "the first sync records a Deployment that exists",
    setUp: restarting("password"),
    atStart: true,
  },
];

testScenarios(scenarios);
