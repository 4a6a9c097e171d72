import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { changeMetadata, connect, type Scenario, sync, synced, syncFile } from "./scenario.ts";
import { testScenarios } from "./test-scenarios.ts";
import type { World } from "./world.ts";

const tampered = (name: string, act: (world: World) => void): Scenario => ({
  name: `drift of ${name}`,
  setUp: synced("user", "password"),
  acts: [{ act }],
});

/** Makes the VaultSecret `db` of a user and a password, with a template for each of these keys. */
function template(world: World, ...keys: readonly string[]): void {
  const data = Object.fromEntries(keys.map((key) => [key, `{{ ${key} | trim }}`]));
  sync(world, ["user", "password"], { template: { data } });
}

/** Makes the VaultSecret `db`, with a rule that the second version of `password` does not fit. */
function ruled(world: World): void {
  const data = ["user", "password"].map((key) => ({
    secretKey: key,
    remoteRef: { key },
    ...(key === "password" && { validate: { pattern: "[^2]$" } }),
  }));
  sync(world, [], {}, { data });
}

const contents: readonly Scenario[] = [
  {
    name: "a new resource",
    setUp: (world) => (world.write("user", "password"), connect(world)),
    acts: [{ act: (world) => sync(world, ["user", "password"]) }],
  },
  {
    name: "a new version of one key",
    setUp: synced("password"),
    acts: [{ act: (world) => world.write("password") }],
  },
  {
    name: "new versions of several keys",
    setUp: synced("user", "password", "host"),
    acts: [{ act: (world) => world.write("user", "password", "host") }],
  },
  tampered("the bytes", (world) =>
    world.edit(SECRETS, "db", (target) => ({
      ...target,
      data: { ...(target["data"] as object), password: "Zm9yZ2Vk" },
    })),
  ),
  tampered("the keys", (world) =>
    world.edit(SECRETS, "db", (target) => ({ ...target, data: { other: "Zm9yZ2Vk" } })),
  ),
  tampered("an annotation", (world) =>
    changeMetadata(world, ({ annotations }) => ({
      annotations: {
        ...(annotations as object),
        "vaultsync.dev/versions": '{"user":7,"password":1}',
      },
    })),
  ),
  tampered("a label", (world) => changeMetadata(world, () => ({ labels: {} }))),
  tampered("the owner reference", (world) =>
    changeMetadata(world, () => ({ ownerReferences: [] })),
  ),
  tampered("the whole target", (world) => world.remove(SECRETS, "db")),
  {
    name: "another type",
    setUp: synced("username", "password"),
    acts: [
      {
        act: (world) => sync(world, ["username", "password"], { type: "kubernetes.io/basic-auth" }),
      },
    ],
    losses: ["Secret/db"],
  },
  {
    name: "another name of the target",
    setUp: synced("password"),
    acts: [{ act: (world) => sync(world, ["password"], { name: "renamed" }) }],
    losses: ["Secret/db"],
  },
  {
    name: "another key of the target",
    setUp: synced("user", "password"),
    acts: [
      { act: (world) => sync(world, ["password", "host"]) },
      { atMs: 3_000, act: (world) => world.write("host") },
    ],
    losses: ["Secret/db user"],
  },
  {
    name: "new versions of the variables of a template, and another template",
    setUp: (world) => (
      world.write("user", "password"),
      connect(world),
      template(world, "user", "password")
    ),
    acts: [
      { act: (world) => world.write("user", "password") },
      { atMs: 5_000, act: (world) => template(world, "password") },
    ],
    losses: ["Secret/db user"],
  },
  {
    name: "a version that does not fit a rule, then one that does",
    setUp: (world) => (world.write("user", "password"), connect(world), ruled(world)),
    acts: [
      { act: (world) => world.write("user", "password") },
      { atMs: 15_000, act: (world) => world.write("password") },
    ],
  },
];

const fileScenarios: readonly Scenario[] = (["ConfigMap", "Secret"] as const).map((kind) => ({
  name: `a file to a ${kind}, and a new version of it`,
  setUp: (world) => (world.upload("app.conf"), connect(world)),
  acts: [
    { act: (world) => syncFile(world, kind) },
    { atMs: 5_000, act: (world) => world.upload("app.conf") },
  ],
}));

testScenarios([...contents, ...fileScenarios]);
