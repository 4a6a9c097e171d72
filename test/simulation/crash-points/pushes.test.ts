import { vaultPushKind } from "../../../src/operator/api/kinds.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { connect, type Scenario } from "./scenario.ts";
import { testScenarios } from "./test-scenarios.ts";
import { ACCOUNT, CANARY, type World } from "./world.ts";

const NAME = "pushed";

/** Creates or changes the Secret, as a user does. */
function source(world: World, text: string): void {
  const data = { password: Buffer.from(`${CANARY}/${text}`).toString("base64") };
  world.edit(SECRETS, "source", (before) => ({ ...before, type: "Opaque", data }));
}

function push(world: World, changes: object = {}): void {
  const data = [{ secretKey: "password", remoteRef: { key: NAME } }];
  const spec = {
    connectionRef: { name: "vault" },
    secret: { name: "source" },
    refreshInterval: "5s",
    data,
  };
  world.put("VaultPush", "push", { ...spec, ...changes });
}

/** A connection, a Secret and a VaultPush. */
const pushed =
  (changes: object = {}) =>
  (world: World): void => {
    connect(world, { refreshInterval: "5s" });
    source(world, "one");
    push(world, changes);
  };

const toFile = { data: [{ secretKey: "password", file: { filename: "pushed.txt" } }] };
const deleting = { deletionPolicy: "Delete" };
const overwrite = (world: World): void => {
  world.vault.act(ACCOUNT, "protect", { key_name: NAME, key_value: `${CANARY}/theirs` });
};

const pushes: readonly Scenario[] = [
  { name: "first push of a secret", setUp: pushed(), atStart: true },
  { name: "first push of a file", setUp: pushed(toFile), atStart: true },
  { name: "first push with a finalizer", setUp: pushed(deleting), atStart: true },
  { name: "a changed Secret", setUp: pushed(), acts: [{ act: (world) => source(world, "two") }] },
  {
    name: "a changed Secret that is a file of the vault",
    setUp: pushed(toFile),
    acts: [{ act: (world) => source(world, "two") }],
  },
  { name: "an entry that a user changed", setUp: pushed(), acts: [{ act: overwrite }] },
  {
    name: "an entry that a user deleted",
    setUp: pushed(),
    acts: [{ act: (world) => void world.vault.act(ACCOUNT, "delete", { key_name: NAME }) }],
  },
  {
    name: "a deleted resource whose entry goes",
    setUp: pushed(deleting),
    acts: [{ act: (world) => world.remove(vaultPushKind, "push") }],
  },
  {
    name: "a deleted resource whose file goes",
    setUp: pushed({ ...toFile, ...deleting }),
    acts: [{ act: (world) => world.remove(vaultPushKind, "push") }],
  },
];

testScenarios(pushes);
