import { expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";

const MINUTE = 60_000;
const data = { password: "db" };
const spec = { refreshInterval: "30m" };

/**
 * Starts an operator that has just synced version 1 of `db`, whose content changes at most every 30
 * minutes.
 */
async function synced(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.following([{ name: "db" }], data, spec);
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
  return scene;
}

test("a new version is followed at the end of the refreshInterval, without another list", async () => {
  await using scene = await synced();
  scene.vault().calls.length = 0;
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(25 * MINUTE);
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
  expect(scene.condition("UpdateAvailable")?.message).toContain("spec.refreshInterval: db 1 → 2");
  await scene.settle(6 * MINUTE);
  expect(scene.outcome()).toBe("password=vault db@2, Synced");
  expect(scene.condition("UpdateAvailable")).toBeUndefined();
  expect(scene.vault().polls).toBe(0);
  await scene.settle(31 * MINUTE);
  scene.vault().lists({ name: "db", version: 3 });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@3, Synced");
});

test("the refreshInterval lasts over a restart, and a repair keeps the version", async () => {
  await using scene = await synced();
  scene.vault().lists({ name: "db", version: 2 });
  await scene.replace();
  scene.edit({ password: "edited" });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
});

test("a changed spec and a forced sync follow the vault immediately", async () => {
  await using scene = await synced();
  scene.vault().lists({ name: "db", version: 2 });
  scene.annotate({ "vaultsync.dev/force-sync": "1" });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@2, Synced");
  scene.vault().lists({ name: "db", version: 3 });
  await scene.settle();
  scene.follow({ ...data, more: "db" }, spec);
  await scene.settle();
  expect(scene.outcome()).toBe("more=vault db@3 password=vault db@3, Synced");
});

test("a removal at the deadline is not delayed", async () => {
  await using scene = await synced();
  scene.vault().lists({ name: "db", deleteAt: scene.clock.now() + MINUTE });
  await scene.settle(2 * MINUTE);
  scene.vault().lists();
  await scene.settle();
  expect(scene.outcome()).toBe("absent, SourceRemoved");
});

test("the owner that was served first stays, also if its target is deleted", async () => {
  await using scene = await SimulatedWorld.shop();
  scene.connect("vault", { receive: "Anyone" });
  const dba = { name: "db", owner: "dba@example.com", shared: true };
  const eve = { name: "db", owner: "eve@example.com", shared: true, version: 7 };
  scene.vault().lists(dba);
  scene.follow(data);
  await scene.settle();
  expect(scene.status().items).toMatchObject([{ owner: "dba@example.com", version: 1 }]);
  scene.vault().lists(eve, dba);
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
  scene.vault().lists(eve);
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, AmbiguousName");
  scene.deleteTarget();
  await scene.replace();
  await scene.settle();
  expect(scene.outcome()).toBe("absent, AmbiguousName");
  expect(scene.status().items).toMatchObject([{ owner: "dba@example.com", version: 1 }]);
  const remoteRef = { key: "db", owner: "eve@example.com" };
  scene.follow({ password: remoteRef });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@7, Synced");
});

test("the clock of another replica that was ahead does not delay the next version", async () => {
  await using scene = await SimulatedWorld.shop();
  scene.clock.stepWall(24 * 60 * MINUTE);
  scene.vault().lists({ name: "db" });
  scene.follow(data, spec);
  await scene.settle();
  scene.clock.stepWall(-24 * 60 * MINUTE);
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(31 * MINUTE);
  expect(scene.outcome()).toBe("password=vault db@2, Synced");
});

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
