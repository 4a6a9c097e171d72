import { expect, test, describe } from "vitest";
import {
  type Followed,
  SimulatedWorld,
  accountOf,
  passwordIn,
} from "../lab/simulated/simulated-world.ts";
import { clusterVaultConnectionKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

/** Starts an operator whose secret has a deadline in eight minutes; another resource follows it too. */
async function withDeadline(
  data: Readonly<Record<string, string>> = { password: "db" },
  spec: Followed = {},
): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop();
  scene.vault().write("db");
  scene.follow(data, spec);
  scene.follow({ password: "db" }, { name: "other" });
  await scene.settle(2 * MINUTE);
  scene.vault().schedule(scene.clock.now() + 10 * MINUTE, "db");
  await scene.settle(2 * MINUTE);
  return scene;
}

/** The deadline becomes a later one, and its former time passes. */
async function extend(scene: SimulatedWorld): Promise<void> {
  await scene.settle();
  scene.vault().schedule(scene.clock.now() + 100 * DAY, "db");
  await scene.settle(20 * MINUTE);
}

const KEPT = "password=db@1, SourceMissing";

// A user deletes the secret then: that is no removal at a deadline, whatever an old status shows.
test.each([
  ["has no valid spec", { updates: { windows: [{ schedule: "no", duration: "1h" }] } }],
  ["has no connection", { connection: "none" }],
  ["is suspended", { suspend: true }],
])("a deadline that changes while a resource %s removes nothing", async (_, changes) => {
  await using scene = await withDeadline();
  scene.follow({ password: "db" }, changes);
  await extend(scene);
  scene.vault().remove("db");
  await scene.settle(5 * MINUTE);
  scene.follow({ password: "db" });
  await scene.settle(5 * MINUTE);
  expect(scene.outcome("other")).toBe(KEPT);
  expect(scene.outcome()).toBe(KEPT);
});

test.each([
  ["has no connection", { connection: "none" }],
  ["is suspended", { suspend: true }],
])("nor if the resource that %s is corrected in an outage after a restart", async (_, changes) => {
  await using scene = await withDeadline();
  scene.follow({ password: "db" }, changes);
  await extend(scene);
  scene.vault().setDown(true);
  await scene.restart();
  scene.follow({ password: "db" });
  await scene.settle(2 * MINUTE);
  scene.vault().remove("db");
  scene.vault().setDown(false);
  await scene.settle(10 * MINUTE);
  expect(scene.outcome()).toBe(KEPT);
});

const find = { dataFrom: [{ find: { name: { regexp: "^db$" } } }] };

test.each([
  ["named", { password: "db" }, {}],
  ["found", {}, { data: undefined, ...find }],
])(
  "a deadline that becomes a later one while a target cannot be read removes nothing: %s",
  async (_, data, spec) => {
    await using scene = await withDeadline(data, spec);
    scene.deny("shop/secrets");
    scene.edit({ more: "x" });
    await extend(scene);
    scene.vault().remove("db");
    await scene.settle(MINUTE);
    scene.allow();
    await scene.settle(10 * MINUTE);
    expect(scene.outcome()).toMatch(/=db@1/u);
    expect(scene.outcome("other")).toBe(KEPT);
  },
);

// Its status showed the former deadline, and the next process believed it.
test("nor if the operator starts again before it can be read", async () => {
  await using scene = await withDeadline();
  scene.deny("shop/secrets");
  scene.edit({ more: "x" });
  await extend(scene);
  expect(scene.condition("Ready")?.reason).toBe("TargetForbidden");
  await scene.restart(() => {
    scene.vault().remove("db");
    scene.allow();
  });
  await scene.settle(10 * MINUTE);
  expect(scene.outcome()).toMatch(/password=db@1/u);
  expect(scene.outcome("other")).toBe(KEPT);
});

// The vault returns a held list at the deadline: by the operator's clock, that is a second before.
test("a secret that the vault removes by a clock which is ahead is removed", async () => {
  await using scene = await SimulatedWorld.shop();
  scene.vault().write("db", "api");
  scene.follow({ password: "db", other: "api" });
  await scene.settle();
  scene.vault().schedule(scene.clock.now() + 10 * MINUTE, "db");
  await scene.settle(10 * MINUTE - 1_000);
  scene.vault().remove("db");
  await scene.settle(10 * MINUTE);
  expect(scene.outcome()).toBe("other=api@1, SourceRemoved");
});

/** Long enough for three lists over two intervals, and a little more. */
const PROOF = 4 * MINUTE;
const names = ["a", "b", "c", "d", "e"];
const corporate = { name: "corporate" };
const account = accountOf(corporate);

const allow = (secrets: readonly string[]): object => ({
  access: [{ namespaceSelector: { matchLabels: {} }, secrets }],
});
const keysOf = (scene: SimulatedWorld): readonly string[] =>
  Object.keys(scene.target()?.data ?? {});

function follow(scene: SimulatedWorld, changes: object = {}): void {
  const connectionRef = { kind: "ClusterVaultConnection", ...corporate };
  const data = names.map((key) => ({ secretKey: key, remoteRef: { key } }));
  const target = { whenRemoved: "Retain", whenMissing: "Delete" };
  const spec = { connectionRef, data, target, ...changes };
  scene.put(vaultSecretKind, { namespace: "shop", name: "db" }, spec);
}

/** Starts an operator that keeps what the vault removes in two minutes. */
async function synced(scene: SimulatedWorld): Promise<void> {
  scene.namespace("shop");
  scene.connectAccount(corporate, allow(["*"]));
  const vault = scene.vault();
  vault.writeAs(account, names);
  follow(scene);
  scene.start();
  for (const name of names) vault.setDeadline(account, name, scene.clock.now() + 2 * MINUTE);
  await scene.clock.advance(MINUTE);
  expect(keysOf(scene)).toEqual(names);
}

// The connection kept what the vault had removed at its deadline, so nothing was held; the resource
// did not know of the deadline, and removed all of it.
describe("many secrets reach their deadline while a resource with whenRemoved: Retain", () => {
  test.each(["the same process", "another process"])(
    "is suspended: %s keeps them",
    async (which) => {
      await using scene = new SimulatedWorld({ passwordIn });
      await synced(scene);
      follow(scene, { suspend: true });
      await scene.clock.advance(3 * MINUTE);
      if (which === "another process") await scene.restart();
      follow(scene);
      await scene.clock.advance(2 * PROOF);
      expect(keysOf(scene)).toEqual(names);
      expect(scene.condition("Ready")?.reason).toBe("SourceRemoved");
    },
  );

  test.each(["the same process", "another process"])(
    "has no access: %s holds them",
    async (which) => {
      await using scene = new SimulatedWorld({ passwordIn });
      await synced(scene);
      scene.connectAccount(corporate, allow(["other"]));
      await scene.clock.advance(3 * MINUTE);
      if (which === "another process") await scene.restart();
      scene.connectAccount(corporate, allow(["*"]));
      await scene.clock.advance(2 * PROOF);
      expect(keysOf(scene)).toEqual(names);
      expect(scene.condition("Ready")?.reason).toBe("SourceMissing");
      const held = scene.conditionOf(clusterVaultConnectionKind, corporate, "RemovalsHeld");
      expect(held?.message).toContain("confirm-removals=5");
    },
  );
});
