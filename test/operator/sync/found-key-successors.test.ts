import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { vaultConnectionKind } from "../../../src/operator/api/kinds.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";

type Listed = Partial<SecretRecord>;

const named = (...names: readonly string[]): Listed[] => names.map((name) => ({ name }));

const messageOf = (scene: SimulatedWorld): string | undefined => scene.condition("Ready")?.message;

/** A rule that makes the key `a` of `shop-a` and of `shopa`. */
const RULE = [
  {
    find: { name: { regexp: "^shop-?" } },
    rewrite: [{ regexp: { source: "^shop-?", target: "" } }],
  },
];
const DELETE = { whenMissing: "Delete" };
const KEPT = "a=vault shop-a@1 b=vault shop-b@1";
const TAKEN = "a=vault shopa@1 b=vault shop-b@1";

/** Starts an operator whose rule has made the keys of `shop-a` and `shop-b`. */
const serving = (target: object = {}): Promise<SimulatedWorld> =>
  SimulatedWorld.following(
    named("shop-a", "shop-b"),
    {},
    { data: undefined, dataFrom: RULE, target },
  );

/** Sets what the vault lists, and waits for the operator. */
async function list(scene: SimulatedWorld, ...listed: readonly Listed[]): Promise<void> {
  scene.vault().lists(...listed);
  await scene.settle();
}

describe("a secret whose key another one has", () => {
  test("does not replace one that a list lacks", async () => {
    await using scene = await serving();
    await list(scene, ...named("shop-a", "shopa", "shop-b"));
    expect(scene.outcome()).toBe(`${KEPT}, InvalidKey`);
    await list(scene, ...named("shopa", "shop-b"));
    expect(scene.outcome()).toBe(`${KEPT}, SourceMissing`);
    expect(messageOf(scene)).toContain("existing content is kept");
    expect(messageOf(scene)).toContain("; shopa does not get its key a: set rewrite");
    await scene.replace();
    await scene.settle(600_000);
    expect(scene.outcome()).toBe(`${KEPT}, SourceMissing`);
    await list(scene, ...named("shop-a", "shop-b"));
    expect(scene.outcome()).toBe(`${KEPT}, Synced`);
  });

  test("replaces it with whenMissing: Delete on proof, in one write", async () => {
    await using scene = await serving(DELETE);
    await list(scene, ...named("shopa", "shop-b"));
    expect(scene.outcome()).toBe(`${KEPT}, SourceMissing`);
    expect(messageOf(scene)).toContain("; then shopa gets its key a");
    scene.takeRequests();
    await scene.settle(300_000);
    const writes = scene.takeRequests().filter((request) => request.includes(" secrets "));
    expect(writes).toEqual(["patch secrets db"]);
    expect(scene.outcome()).toBe(`${TAKEN}, Synced`);
  });

  test("replaces it at its delete_time", async () => {
    await using scene = await serving();
    const deleteAt = scene.clock.now() + 20_000;
    await list(scene, { name: "shop-a", deleteAt }, ...named("shopa", "shop-b"));
    await scene.settle(20_000);
    await list(scene, ...named("shopa", "shop-b"));
    expect(scene.outcome()).toBe(`${TAKEN}, Synced`);
  });

  test("does not replace it after its delete_time with whenRemoved: Retain", async () => {
    await using scene = await serving({ whenRemoved: "Retain" });
    const deleteAt = scene.clock.now() + 20_000;
    await list(scene, { name: "shop-a", deleteAt }, ...named("shopa", "shop-b"));
    await scene.settle(20_000);
    await list(scene, ...named("shopa", "shop-b"));
    expect(scene.outcome()).toBe(`${KEPT}, SourceRemoved`);
  });

  test("does not replace it during a hold, but when a user has confirmed that", async () => {
    const names = Array.from({ length: 8 }, (_, at) => `shop-c${at}`);
    await using scene = await SimulatedWorld.following(
      named("shop-a", "shop-b", ...names),
      {},
      { data: undefined, dataFrom: RULE, target: DELETE },
    );
    await list(scene, ...named("shopa", "shop-b"));
    await scene.settle(300_000);
    expect(scene.outcome()).toContain(KEPT);
    expect(messageOf(scene)).toContain("too many names disappeared");
    const annotations = { "vaultsync.dev/confirm-removals": "9" };
    expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=9");
    const connection = { namespace: "shop", name: "vault" };
    scene.server.patch(vaultConnectionKind, connection, { metadata: { annotations } });
    await scene.settle(300_000);
    expect(scene.outcome()).toBe(`${TAKEN}, Synced`);
  });

  test("does not replace one whose bytes only the former target has", async () => {
    await using scene = await serving();
    scene.vault().lists(...named("shopa", "shop-b"));
    scene.follow({}, { data: undefined, dataFrom: RULE, target: { name: "next" } });
    await scene.settle();
    expect(scene.outcome()).toContain(KEPT);
    expect(scene.target("next")?.data ?? {}).not.toHaveProperty("a");
  });

  test("leaves no bytes of it behind when a freeze keeps the successor away", async () => {
    await using scene = await serving();
    const deleteAt = scene.clock.now() + 20_000;
    await list(scene, { name: "shop-a", deleteAt }, ...named("shopa", "shop-b"));
    scene.freeze();
    await scene.settle(20_000);
    await list(scene, ...named("shopa", "shop-b"));
    expect(scene.outcome()).toContain("b=vault shop-b@1,");
    expect(scene.outcome()).not.toContain("a=");
    await scene.settle(3_600_000);
    expect(scene.outcome()).toBe(`${TAKEN}, Synced`);
  });

  test.each([false, true])(
    "leaves no bytes behind when the successor cannot be read, after a restart: %s",
    async (isRestarted) => {
      await using scene = await serving();
      const deleteAt = scene.clock.now() + 20_000;
      await list(scene, { name: "shop-a", deleteAt }, ...named("shopa", "shop-b"));
      scene.vault().unreadable.add("shopa");
      await scene.settle(120_000);
      expect(scene.outcome()).toContain(KEPT);
      if (isRestarted) await scene.replace();
      await scene.settle(600_000);
      expect(scene.outcome()).toContain("b=vault shop-b@1,");
      expect(scene.outcome()).not.toContain("a=");
      scene.vault().unreadable.clear();
      await scene.settle(600_000);
      expect(scene.outcome()).toBe(`${TAKEN}, Synced`);
    },
  );

  test("leaves no bytes of it behind in a former target", async () => {
    await using scene = await serving();
    const deleteAt = scene.clock.now() + 60_000;
    await list(scene, { name: "shop-a", deleteAt }, ...named("shopa", "shop-b"));
    const data = [{ secretKey: "c", remoteRef: { key: "other" } }];
    scene.follow({}, { data, dataFrom: RULE, target: { name: "next" } });
    await scene.settle(10_000);
    expect(Object.keys(scene.target()?.data ?? {})).toEqual(["a", "b"]);
    await scene.settle(50_000);
    await list(scene, ...named("shopa", "shop-b"));
    await scene.settle(600_000);
    expect(Object.keys(scene.target()?.data ?? {})).toEqual(["b"]);
    await list(scene, ...named("shopa", "shop-b", "other"));
    await scene.settle(600_000);
    expect(Object.keys(scene.target("next")?.data ?? {}).sort()).toEqual(["a", "b", "c"]);
    expect(scene.target()).toBeUndefined();
  });
});
