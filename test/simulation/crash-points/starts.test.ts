import { connect, type Scenario, synced, syncFile } from "./scenario.ts";
import { testScenarios } from "./test-scenarios.ts";

const starts: readonly Scenario[] = [
  { name: "first start with a new Secret", setUp: synced("password"), atStart: true },
  {
    name: "first start as a leader",
    setUp: synced("password"),
    atStart: true,
    leaderElect: true,
    recordMs: 5_000,
  },
  {
    name: "first start with files",
    atStart: true,
    setUp: (world) => {
      world.upload("app.conf");
      connect(world);
      syncFile(world, "ConfigMap");
    },
  },
  {
    name: "restart of a leader",
    leaderElect: true,
    warmUpMs: 10_000,
    setUp: synced("password"),
    acts: [
      { act: (world) => world.stop() },
      { atMs: 3_000, act: (world) => (world.write("password"), world.start()) },
    ],
    recordMs: 8_000,
  },
  {
    name: "takeover by a second replica",
    leaderElect: true,
    warmUpMs: 10_000,
    setUp: (world) => {
      synced("password")(world);
      world.clock.timer(5_000, () => world.start());
    },
    acts: [{ atMs: 1_000, act: (world) => world.write("password") }],
    recordMs: 5_000,
  },
];

testScenarios(starts);
