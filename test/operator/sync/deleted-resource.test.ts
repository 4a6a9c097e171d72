import { expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";

/** The deadlines of a queue share a timer: one timer less means no deadline at all. */
test("a VaultSecret that is deleted leaves no deadline in the queue", async () => {
  await using scene = await SimulatedWorld.shop();
  const { clock, server } = scene;
  scene.vault().lists({ name: "db" });
  await scene.settle(60_000);
  const before = clock.pending;
  scene.follow({ password: "db" }, { refreshInterval: "1h" });
  await scene.settle(60_000);
  expect(clock.pending).toBe(before + 1);
  server.delete(vaultSecretKind, { namespace: "shop", name: "db" });
  await scene.settle(60_000);
  expect(clock.pending).toBe(before);
});

test("a VaultPush that is deleted leaves no deadline in the queue", async () => {
  await using scene = await SimulatedWorld.forPushes();
  const { clock } = scene;
  scene.pushes.source({ password: "one" });
  await scene.settle(60_000);
  const before = clock.pending;
  scene.pushes.put({ refreshInterval: "1h" });
  await scene.settle(60_000);
  expect(clock.pending).toBe(before + 1);
  scene.pushes.delete();
  await scene.settle(60_000);
  expect(clock.pending).toBe(before);
});
