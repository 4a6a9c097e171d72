import { expect, test } from "vitest";
import { SimulatedWorld } from "../../../../test/lab/simulated/simulated-world.ts";
import { vaultSecretKind } from "../../api/kinds.ts";
import { TransientError } from "../../vault-client/vault-error.ts";

const MINUTE = 60_000;
const data = { password: "db" };
/** The list that showed the secret when the resource came. */
const FIRST = { count: 1, seconds: 0 };

/** Returns the number and the sum of the measured times. */
async function propagations(scene: SimulatedWorld): Promise<{ count: number; seconds: number }> {
  const [count = 0, seconds = 0] = await Promise.all(
    ["count", "sum"].map(async (part) =>
      (await scene.samples(`vaultsync_propagation_seconds_${part}`)).get(""),
    ),
  );
  return { count, seconds };
}

/** Starts an operator that has synced version 1 of `db`. */
async function synced(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.following([{ name: "db" }], data);
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
  return scene;
}

/** Lists version 2 and fails to return it. */
async function failsToReturn(scene: SimulatedWorld): Promise<void> {
  scene.vault().expose = () => {
    throw new TransientError("expose", "timeout");
  };
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(MINUTE);
  expect(await propagations(scene)).toEqual(FIRST);
  scene.vault().expose = () => ({});
}

test("a change is measured to the write of its target, including the time of failed reads", async () => {
  await using scene = await synced();
  await failsToReturn(scene);
  await scene.settle(5 * MINUTE);
  expect(scene.outcome()).toBe("password=vault db@2, Synced");
  const { count, seconds } = await propagations(scene);
  expect(count).toBe(2);
  expect(seconds).toBeGreaterThan(60);
});

test("a list that changes nothing in the target does not count when the target is repaired later", async () => {
  await using scene = await synced();
  scene.vault().lists({ name: "db", metadata: { description: "changed" } });
  await scene.settle(MINUTE);
  scene.edit({ password: "edited" });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
  expect(await propagations(scene)).toEqual(FIRST);
});

test("a change that a deleted resource never had does not count for a recreated one", async () => {
  await using scene = await synced();
  // Keeps the name in the lists.
  scene.follow(data, { name: "other", suspend: true });
  await failsToReturn(scene);
  scene.server.delete(vaultSecretKind, { namespace: "shop", name: "db" });
  await scene.settle();
  scene.deleteTarget();
  await scene.settle(MINUTE);
  scene.follow(data);
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@2, Synced");
  expect(await propagations(scene)).toEqual(FIRST);
});
