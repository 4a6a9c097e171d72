import { workloadDescriptor } from "../../../src/operator/controllers/restart/workload.ts";
import { simulateWorkloads } from "../../lab/simulated/api-server/simulate-workloads.ts";
import { connect, type Scenario, sync } from "./scenario.ts";
import { testScenarios } from "./test-scenarios.ts";
import type { World } from "./world.ts";

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

const scenarios: readonly Scenario[] = [
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
