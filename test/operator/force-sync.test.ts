import { expect, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import type { SimulatedVault } from "../lab/simulated/simulated-vault.ts";
import {
  vaultConnectionKind,
  vaultFileKind,
  vaultSecretKind,
} from "../../src/operator/api/kinds.ts";
import { FORCE_SYNC_ANNOTATION } from "../../src/operator/api/names.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";
import { readStatus, type SyncStatus } from "../../src/operator/sync/stored-status.ts";

const MINUTE = 60_000;
const ref = { namespace: "shop", name: "db" };

/** Starts an operator that has synced `db`, and does nothing more until the next interval. */
async function synced(scene: SimulatedWorld): Promise<SimulatedVault> {
  const vault = scene.addVault("shop", ["db", "other"]);
  scene.start();
  await scene.clock.advance(MINUTE);
  expect(scene.value("shop", "db")).toBe("db@1");
  scene.resetMeasurements();
  return vault;
}

function force(scene: SimulatedWorld, value: string): void {
  scene.server.patch(vaultSecretKind, ref, {
    metadata: { annotations: { [FORCE_SYNC_ANNOTATION]: value } },
  });
}

const statusOf = (scene: SimulatedWorld): SyncStatus =>
  readStatus("VaultSecret", scene.server.get(vaultSecretKind, ref)["status"]);

test("a forced sync lists once, reads the target, and is echoed when it is done", async () => {
  await using scene = new SimulatedWorld();
  const vault = await synced(scene);
  vault.write("db");
  force(scene, "now");
  await scene.clock.advance(2_000);
  expect(scene.value("shop", "db")).toBe("db@2");
  expect(statusOf(scene).lastForceSync).toBe("now");
  expect(vault.listedAt).toHaveLength(1);
  scene.resetMeasurements();
  force(scene, "again");
  await scene.clock.advance(2_000);
  expect(scene.requests).toEqual(["get secrets db", "update vaultsecrets db"]);
  expect(vault.listedAt.length).toBe(1);
  expect(statusOf(scene).lastForceSync).toBe("again");
});

test("a forced sync is made once per value, also after a restart", async () => {
  await using scene = new SimulatedWorld();
  const vault = await synced(scene);
  force(scene, "now");
  await scene.clock.advance(2_000);
  await scene.restart();
  await scene.clock.advance(2_000);
  scene.resetMeasurements();
  force(scene, "now");
  await scene.clock.advance(2_000);
  expect(vault.listedAt).toEqual([]);
  expect(scene.requests).toEqual([]);
  await scene.restart(() => force(scene, "while stopped"));
  await scene.clock.advance(5_000);
  expect(statusOf(scene).lastForceSync).toBe("while stopped");
});

test.each<[string, string, (scene: SimulatedWorld, vault: SimulatedVault) => void]>([
  ["the vault does not respond", "VaultUnreachable", (_, vault) => void (vault.latencyMs = MINUTE)],
  ["the source is missing", "SourceMissing", (_, vault) => vault.remove("db")],
  [
    "its connection is invalid",
    "ConnectionNotReady",
    (scene) =>
      scene.server.patch(
        vaultConnectionKind,
        { namespace: "shop", name: "vault" },
        { spec: { url: "https://a@b.example.com" } },
      ),
  ],
  [
    "the value cannot be read",
    "VaultUnreachable",
    (_, vault) => (vault.write("db"), vault.unreadable.add("db")),
  ],
  [
    "there is no connection",
    "ConnectionNotFound",
    (scene) => scene.server.delete(vaultConnectionKind, { namespace: "shop", name: "vault" }),
  ],
  [
    "the spec is invalid",
    "InvalidSpec",
    (scene) => scene.server.patch(vaultSecretKind, ref, { spec: { data: [] } }),
  ],
])("a forced sync is echoed if %s", async (_, reason, fail) => {
  await using scene = new SimulatedWorld();
  const vault = await synced(scene);
  fail(scene, vault);
  force(scene, "now");
  await scene.clock.advance(15_000);
  expect(scene.condition("Ready", "db")?.reason).toEqual(reason);
  expect(statusOf(scene).lastForceSync).toBe("now");
  expect(scene.value("shop", "db")).toBe("db@1");
});

/** Returns Ready of each status that echoes a forced sync, at each of its writes from now on. */
function echoesOf(scene: SimulatedWorld): string[] {
  const seen: string[] = [];
  scene.server.onCommit(({ resource, after }) => {
    const status =
      resource.plural === vaultSecretKind.plural
        ? readStatus("VaultSecret", after?.["status"])
        : {};
    if (status.lastForceSync === undefined) return;
    const ready = status.conditions?.find(({ type }) => type === "Ready");
    seen.push(`${status.lastForceSync} ${ready?.status} ${ready?.reason}`);
  });
  return seen;
}

test("a forced sync reports that the vault is down, until a list succeeds", async () => {
  await using scene = new SimulatedWorld();
  const vault = await synced(scene);
  vault.write("db");
  vault.setDown(true);
  const written = echoesOf(scene);
  force(scene, "now");
  await scene.clock.advance(30 * MINUTE);
  expect(written.filter((one) => !one.includes("VaultUnreachable"))).toEqual([]);
  expect(scene.condition("Ready", "db")?.message).toMatch(
    /^the vault was not listed for the forced sync: cannot list/,
  );
  expect(scene.condition("Reconciling", "db")?.reason).toBe("VaultUnreachable");
  // The failure, and that the lists are outdated.
  expect(written.length).toBeLessThanOrEqual(2);
  vault.setDown(false);
  await scene.clock.advance(2 * MINUTE);
  expect(scene.value("shop", "db")).toBe("db@2");
  expect(scene.condition("Ready", "db")?.reason).toBe("Synced");
});

test("a resource is ready again after a forced sync that failed, if the vault has nothing new", async () => {
  await using scene = new SimulatedWorld();
  const vault = await synced(scene);
  vault.setDown(true);
  force(scene, "now");
  await scene.clock.advance(5_000);
  expect(scene.condition("Ready", "db")?.status).toBe("False");
  vault.setDown(false);
  await scene.clock.advance(10_000);
  expect(scene.condition("Ready", "db")?.status).toBe("True");
});

test("a forced sync whose list takes longer than 10 s fails, and is ready when the list arrives", async () => {
  await using scene = new SimulatedWorld();
  const vault = await synced(scene);
  const connection = { namespace: "shop", name: "vault" };
  scene.server.patch(vaultConnectionKind, connection, { spec: { timeout: "30s" } });
  await scene.clock.advance(MINUTE);
  vault.latencyMs = 20_000;
  vault.write("db");
  const written = echoesOf(scene);
  force(scene, "now");
  await scene.clock.advance(15_000);
  expect(written).toEqual(["now False VaultUnreachable"]);
  await scene.clock.advance(50_000);
  expect(scene.value("shop", "db")).toBe("db@2");
  expect(scene.condition("Ready", "db")?.reason).toBe("Synced");
});

test("a forced sync through a held list is echoed soon, although the vault has nothing new", async () => {
  await using scene = new SimulatedWorld();
  scene.addFileVault("shop", ["terms"], {});
  scene.start();
  await scene.clock.advance(MINUTE);
  const file = { namespace: "shop", name: "terms" };
  scene.server.patch(vaultFileKind, file, {
    metadata: { annotations: { [FORCE_SYNC_ANNOTATION]: "now" } },
  });
  await scene.clock.advance(2_000);
  const { lastForceSync, conditions } = readStatus(
    "VaultFile",
    scene.server.get(vaultFileKind, file)["status"],
  );
  expect(lastForceSync).toBe("now");
  expect(conditions).toEqual([expect.objectContaining({ type: "Ready", status: "True" })]);
});

test("a target that was edited is repaired while a forced sync waits for the vault", async () => {
  await using scene = new SimulatedWorld();
  const vault = await synced(scene);
  vault.setDown(true);
  force(scene, "now");
  await scene.clock.advance(15_000);
  const data = { value: Buffer.from("edited").toString("base64") };
  scene.server.patch(SECRETS, ref, { data });
  await scene.clock.advance(15_000);
  expect(scene.value("shop", "db")).toBe("db@1");
});

test("a suspended resource is synced when it is resumed", async () => {
  await using scene = new SimulatedWorld();
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
  await using scene = new SimulatedWorld();
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
  const echoes = scene.server
    .all(vaultSecretKind)
    .map((one) => readStatus("VaultSecret", one["status"]).lastForceSync);
  expect(echoes).toEqual(names.map(() => "now"));
  expect(vault.listedAt.length).toBeLessThanOrEqual(2);
});
