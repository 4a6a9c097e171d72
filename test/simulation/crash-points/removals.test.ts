import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { connect, type Scenario, sync, synced } from "./scenario.ts";
import { testScenarios } from "./test-scenarios.ts";
import { ACCOUNT } from "./world.ts";

const removals: readonly Scenario[] = [
  {
    name: "removal of one of two keys at its delete_time",
    setUp: (world) => {
      synced("password")(world);
      world.writeSecret("user", 1);
      sync(world, ["password", "user"]);
    },
    warmUpMs: 58_000,
    recordMs: 15_000,
    losses: ["Secret/db user"],
  },
  {
    name: "removal of the last key at its delete_time",
    setUp: (world) => {
      connect(world);
      world.writeSecret("password", 1);
      sync(world, ["password"]);
    },
    warmUpMs: 58_000,
    recordMs: 15_000,
    losses: ["Secret/db"],
  },
  {
    name: "a source that does not exist yet",
    setUp: synced("user"),
    acts: [
      { act: (world) => sync(world, ["user", "password"], { name: "new" }) },
      { atMs: 5_000, act: (world) => world.write("password") },
    ],
    losses: ["Secret/db"],
  },
  {
    name: "a source that a user deleted",
    setUp: synced("user", "password"),
    acts: [{ act: (world) => void world.vault.act(ACCOUNT, "delete", { key_name: "password" }) }],
  },
  {
    name: "a source that was created again",
    setUp: synced("user", "password"),
    acts: [
      { act: (world) => void world.vault.act(ACCOUNT, "delete", { key_name: "password" }) },
      { atMs: 5_000, act: (world) => world.writeAgain("password") },
    ],
    recordMs: 15_000,
  },
  {
    name: "deletion of the resource",
    setUp: synced("password"),
    acts: [{ act: (world) => world.remove(vaultSecretKind, "db") }],
    losses: ["Secret/db"],
  },
  {
    name: "adoption of the target of a resource that was created again",
    setUp: synced("password"),
    acts: [
      { act: (world) => world.remove(vaultSecretKind, "db", "Orphan") },
      { atMs: 3_000, act: (world) => sync(world, ["password"]) },
    ],
  },
  {
    name: "a resource that was deleted and created again immediately",
    setUp: synced("password"),
    acts: [{ act: (world) => (world.remove(vaultSecretKind, "db"), sync(world, ["password"])) }],
    racesCollection: true,
  },
  {
    name: "suspend and resume",
    setUp: synced("password"),
    acts: [
      { act: (world) => sync(world, ["password"], {}, { suspend: true }) },
      { atMs: 2_000, act: (world) => world.write("password") },
      { atMs: 5_000, act: (world) => sync(world, ["password"]) },
    ],
  },
];

testScenarios(removals);
