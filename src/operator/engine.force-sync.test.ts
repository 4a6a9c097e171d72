import { expect, test } from "vitest";
import { OperatorScene } from "../../test/support/operator/operator-scene.ts";
import type { SimulatedVault } from "../../test/support/vault/simulated-vault.ts";
import { vaultConnectionKind, vaultSecretKind } from "./api/kinds.ts";
import { FORCE_SYNC_ANNOTATION } from "./api/names.ts";
import { readStatus, type SyncStatus } from "./sync/sync-status.ts";

const MINUTE = 60_000;
const ref = { namespace: "shop", name: "db" };

/** Starts an operator that has synced `db`, and does nothing more until the next interval. */
async function synced(scene: OperatorScene): Promise<SimulatedVault> {
  const vault = scene.addVault("shop", ["db", "other"]);
  scene.start();
  await scene.clock.advance(MINUTE);
  expect(scene.value("shop", "db")).toBe("db@1");
  scene.resetMeasurements();
  return vault;
}

function force(scene: OperatorScene, value: string): void {
  scene.server.patch(vaultSecretKind, ref, { metadata: { annotations: { [FORCE_SYNC_ANNOTATION]: value } } });
}

const statusOf = (scene: OperatorScene): SyncStatus =>
  readStatus("VaultSecret", scene.server.get(vaultSecretKind, ref)["status"]);

test("a forced sync lists once, reads the target, and is echoed when it is done", async () => {
  await using scene = new OperatorScene();
  const vault = await synced(scene);
  vault.write("db");
  force(scene, "now");
  await scene.clock.advance(2_000);
  expect([scene.value("shop", "db"), statusOf(scene).lastForceSync]).toEqual(["db@2", "now"]);
  expect(vault.listedAt).toHaveLength(1);
  scene.resetMeasurements();
  force(scene, "again");
  await scene.clock.advance(2_000);
  expect(scene.requests).toEqual(["get secrets db", "update vaultsecrets db"]);
  expect([vault.listedAt.length, statusOf(scene).lastForceSync]).toEqual([1, "again"]);
});

test("a forced sync is made once per value, also after a restart", async () => {
  await using scene = new OperatorScene();
  const vault = await synced(scene);
  force(scene, "now");
  await scene.clock.advance(2_000);
  await scene.restart();
  await scene.clock.advance(2_000);
  scene.resetMeasurements();
  force(scene, "now");
  await scene.clock.advance(2_000);
  expect([vault.listedAt, scene.requests]).toEqual([[], []]);
  await scene.restart(() => force(scene, "while stopped"));
  await scene.clock.advance(5_000);
  expect(statusOf(scene).lastForceSync).toBe("while stopped");
});

test.each<[string, string, (scene: OperatorScene, vault: SimulatedVault) => void]>([
  ["the vault does not respond", "Synced", (_, vault) => void (vault.latencyMs = MINUTE)],
  ["the source is missing", "SourceMissing", (_, vault) => vault.remove("db")],
  [
    "there is no connection",
    "ConnectionNotFound",
    (scene) => scene.server.delete(vaultConnectionKind, { namespace: "shop", name: "vault" }),
  ],
  ["the spec is invalid", "InvalidSpec", (scene) => scene.server.patch(vaultSecretKind, ref, { spec: { data: [] } })],
])("a forced sync is echoed if %s", async (_, reason, fail) => {
  await using scene = new OperatorScene();
  const vault = await synced(scene);
  fail(scene, vault);
  force(scene, "now");
  await scene.clock.advance(15_000);
  expect([scene.condition("Ready", "shop", "db")?.reason, statusOf(scene).lastForceSync]).toEqual([reason, "now"]);
  expect(scene.value("shop", "db")).toBe("db@1");
});

test("a suspended resource is synced when it is resumed", async () => {
  await using scene = new OperatorScene();
  await synced(scene);
  scene.server.patch(vaultSecretKind, ref, { spec: { suspend: true } });
  force(scene, "now");
  await scene.clock.advance(15_000);
  expect(statusOf(scene).lastForceSync).toBeUndefined();
  scene.server.patch(vaultSecretKind, ref, { spec: { suspend: false } });
  await scene.clock.advance(15_000);
  expect(statusOf(scene).lastForceSync).toBe("now");
});

test("many forced syncs share their lists, and none occupies a worker while it waits", async () => {
  await using scene = new OperatorScene();
  const names = Array.from({ length: 100 }, (_, n) => `db-${n}`);
  const vault = scene.addVault("shop", names);
  scene.start();
  await scene.clock.advance(MINUTE);
  scene.resetMeasurements();
  for (const name of names) {
    const metadata = { annotations: { [FORCE_SYNC_ANNOTATION]: "now" } };
    scene.server.patch(vaultSecretKind, { namespace: "shop", name }, { metadata });
  }
  await scene.clock.advance(5_000);
  const echoes = scene.server.all(vaultSecretKind).map((one) => readStatus("VaultSecret", one["status"]).lastForceSync);
  expect(echoes).toEqual(names.map(() => "now"));
  expect(vault.listedAt.length).toBeLessThanOrEqual(2);
});
