import { expect, test } from "vitest";
import { ACCOUNT, type SimulatedVault } from "../lab/simulated/simulated-vault.ts";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { vaultConnectionKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { CONFIG_MAPS } from "../../src/operator/kube/resource.ts";
import { CONFIRM_REMOVALS_ANNOTATION } from "../../src/operator/api/names.ts";

const MINUTE = 60_000;
const connection = { namespace: "shop", name: "vault" };
const names = Array.from({ length: 10 }, (_, n) => `file-${n}`);

const remaining = (scene: SimulatedWorld): string[] =>
  names.filter((name) => scene.server.find(CONFIG_MAPS, { namespace: "shop", name }) !== undefined);
const confirm = (scene: SimulatedWorld, number: string): void => {
  const metadata = { annotations: { [CONFIRM_REMOVALS_ANNOTATION]: number } };
  scene.server.patch(vaultConnectionKind, connection, { metadata });
};

/**
 * Starts an operator that has synced ten files of a vault that holds its lists until they change.
 */
async function synced(scene: SimulatedWorld, policies: object): Promise<SimulatedVault> {
  const vault = scene.addFileVault("shop", names, policies);
  scene.start();
  await scene.clock.advance(MINUTE);
  expect(remaining(scene)).toEqual(names);
  return vault;
}

const removes = (vault: SimulatedVault, removed: readonly string[]): void => {
  for (const filename of removed) vault.act(ACCOUNT, "delete_file", { filename });
};

test("a file that is missing keeps its target by default", async () => {
  await using scene = new SimulatedWorld();
  removes(await synced(scene, {}), ["file-0"]);
  await scene.clock.advance(10 * MINUTE);
  expect(remaining(scene)).toEqual(names);
});

test("a file that is missing from three held lists loses its target with whenMissing: Delete", async () => {
  await using scene = new SimulatedWorld();
  removes(await synced(scene, { whenMissing: "Delete" }), ["file-0"]);
  await scene.clock.advance(110_000);
  expect(remaining(scene)).toEqual(names);
  await scene.clock.advance(2 * MINUTE);
  expect(remaining(scene)).toEqual(names.slice(1));
});

test("many files that disappear together keep their targets until a user confirms their number", async () => {
  await using scene = new SimulatedWorld();
  removes(await synced(scene, { whenMissing: "Delete" }), names.slice(0, 6));
  await scene.clock.advance(10 * MINUTE);
  expect(remaining(scene)).toEqual(names);
  expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=6");
  confirm(scene, "6");
  await scene.clock.advance(MINUTE);
  expect(remaining(scene)).toEqual(names.slice(6));
});

test("a suspended resource keeps its target until it is resumed, also if removals are confirmed", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault("shop", names, { whenMissing: "Delete" });
  const left = (): string[] => names.filter((name) => scene.value("shop", name) !== undefined);
  const suspend = (value: boolean): unknown =>
    scene.server.patch(
      vaultSecretKind,
      { namespace: "shop", name: "file-0" },
      { spec: { suspend: value } },
    );
  scene.start();
  await scene.clock.advance(MINUTE);
  suspend(true);
  vault.remove(...names.slice(0, 6));
  await scene.clock.advance(5 * MINUTE);
  expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=6");
  confirm(scene, "6");
  await scene.clock.advance(MINUTE);
  expect(left()).toEqual(["file-0", ...names.slice(6)]);
  expect(scene.condition("Ready", "file-0")?.reason).toBe("Suspended");
  suspend(false);
  await scene.clock.advance(MINUTE);
  expect(left()).toEqual(names.slice(6));
});
