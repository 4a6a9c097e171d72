import { describe, expect, test } from "vitest";
import { vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";

const MINUTE = 60_000;
/** Long enough for three lists over two intervals, and a little more. */
const PROOF = 4 * MINUTE;

/** Creates or changes the VaultSecret `db`, whose keys are of optional secrets. */
function follow(scene: SimulatedWorld, all: readonly string[], name: string, prefix = ""): void {
  const data = all.map((key) => ({ secretKey: prefix + key, remoteRef: { key }, optional: true }));
  const spec = { connectionRef: { name: "vault" }, data, target: { name } };
  scene.put(vaultSecretKind, { namespace: "shop", name: "db" }, spec);
}

/** Starts an operator that has synced optional secrets with the target `one`. */
async function synced(scene: SimulatedWorld, all: readonly string[]) {
  const vault = scene.addVault("shop", []);
  vault.write(...all);
  follow(scene, all, "one");
  scene.start();
  await scene.clock.advance(MINUTE);
  expect(keysOf(scene, "one")).toEqual(all);
  return vault;
}

function keysOf(scene: SimulatedWorld, name: string): readonly string[] | undefined {
  const target = scene.target(name);
  return target && Object.keys(target.data ?? {});
}

// The next target was created without the key, or not at all, and the former one was deleted with
// its bytes: one list without the sources was enough.
describe("a target gets another name while optional sources are missing", () => {
  test("the former one stays until their absence is proven", async () => {
    await using scene = new SimulatedWorld();
    const vault = await synced(scene, ["a", "b"]);
    vault.remove("b");
    await scene.clock.advance(MINUTE);
    follow(scene, ["a", "b"], "two");
    await scene.clock.advance(1_000);
    expect([keysOf(scene, "one"), keysOf(scene, "two")]).toEqual([["a", "b"], undefined]);
    expect(scene.condition("Ready")).toMatchObject({ status: "False", reason: "SourceMissing" });
    await scene.clock.advance(PROOF);
    expect([keysOf(scene, "one"), keysOf(scene, "two")]).toEqual([undefined, ["a"]]);
    expect(scene.condition("Ready")?.status).toBe("True");
  });

  test.each(["", "other-"])(
    "it stays while removals are held (prefix of the keys: %j)",
    async (prefix) => {
      await using scene = new SimulatedWorld();
      const all = ["a", "b", "c", "d", "e"];
      const vault = await synced(scene, all);
      vault.remove(...all);
      await scene.clock.advance(PROOF);
      follow(scene, all, "two", prefix);
      await scene.clock.advance(PROOF);
      await scene.restart();
      await scene.clock.advance(PROOF);
      expect([keysOf(scene, "one"), keysOf(scene, "two")]).toEqual([all, undefined]);
      expect(scene.condition("Ready")).toMatchObject({ status: "False", reason: "SourceMissing" });
      expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=5");
      vault.write(...all);
      await scene.clock.advance(MINUTE);
      expect(keysOf(scene, "one")).toBeUndefined();
      expect(keysOf(scene, "two")).toHaveLength(5);
    },
  );
});
