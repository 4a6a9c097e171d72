import { expect, test } from "vitest";
import { OperatorScene } from "../../../../test/lab/kube/operator-scene.ts";
import { vaultSecretKind } from "../../api/kinds.ts";
import { TransientError } from "../../vault-client/vault-error.ts";

const MINUTE = 60_000;
const data = { password: "db" };

/** Starts an operator that has synced version 1 of `db`. */
async function synced(): Promise<OperatorScene> {
  const scene = await OperatorScene.start();
  scene.vault().lists({ name: "db" });
  scene.follow(data);
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
  scene.propagated.length = 0;
  return scene;
}

/** Lists version 2 and fails to return it. */
async function failsToReturn(scene: OperatorScene): Promise<void> {
  scene.vault().expose = () => {
    throw new TransientError("expose", "timeout");
  };
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(MINUTE);
  expect(scene.propagated).toEqual([]);
  scene.vault().expose = () => ({});
}

test("a change is measured to the write of its target, including the time of failed reads", async () => {
  await using scene = await synced();
  await failsToReturn(scene);
  await scene.settle(5 * MINUTE);
  expect(scene.outcome()).toBe("password=vault db@2, Synced");
  expect(scene.propagated).toHaveLength(1);
  expect(scene.propagated[0]).toBeGreaterThan(MINUTE);
});

test("a list that changes nothing in the target does not count when the target is repaired later", async () => {
  await using scene = await synced();
  scene.vault().lists({ name: "db" });
  await scene.settle(MINUTE);
  scene.edit({ password: "edited" });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
  expect(scene.propagated).toEqual([]);
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
  expect(scene.propagated).toEqual([]);
});
