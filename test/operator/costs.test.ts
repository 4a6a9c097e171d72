import { expect, onTestFinished, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { vaultSecretKind } from "../../src/operator/api/kinds.ts";
import type { SimulatedVault } from "../lab/simulated/simulated-vault.ts";

const COUNT = 200;
const NAMES = Array.from({ length: COUNT }, (_, n) => `secret-${n}`);
const MINUTE = 60_000;

/** Starts an operator with {@link COUNT} resources that were never synced. */
function start(requestsPerSecond = Infinity): { scene: SimulatedWorld; vault: SimulatedVault } {
  const scene = new SimulatedWorld();
  onTestFinished(() => scene[Symbol.asyncDispose]());
  const vault = scene.addVault("shop", NAMES);
  vault.requestsPerSecond = requestsPerSecond;
  scene.start();
  return { scene, vault };
}

/**
 * Returns the requests about VaultSecrets, targets, events and values since the last reset, and
 * resets them.
 */
function takeRequests(scene: SimulatedWorld, vault: SimulatedVault): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const request of scene.requests) {
    const [verb, plural, name = ""] = request.split(" ");
    const kind = `${verb} ${plural}`;
    if (name.startsWith("secret-")) counts[kind] = (counts[kind] ?? 0) + 1;
  }
  const exposed = vault.calls.filter(({ operation }) => operation === "version_expose").length;
  scene.resetMeasurements();
  vault.calls.length = 0;
  return exposed === 0 ? counts : { ...counts, exposed };
}

async function reconcilesOf(scene: SimulatedWorld): Promise<number> {
  const counts = [...(await scene.samples("vaultsync_reconciles_total"))];
  const syncs = counts.filter(([labels]) => labels.includes('controller="sync"'));
  return syncs.reduce((sum, [, count]) => sum + count, 0);
}

const firstSync = { exposed: COUNT, "create secrets": COUNT, "update vaultsecrets": COUNT };

test("a sync costs a fetch and two writes, an interval without a change and a restart nothing", async () => {
  const { scene, vault } = start();
  await scene.clock.advance(MINUTE);
  const { "create events": created, ...first } = takeRequests(scene, vault);
  expect(first).toEqual(firstSync);
  expect(created, "events of the first sync").toBeLessThan(30);

  await scene.clock.advance(10 * MINUTE);
  // Intervals between two lists vary by a tenth.
  expect(vault.listedAt.length).toBeGreaterThanOrEqual(9);
  expect(vault.listedAt.length).toBeLessThanOrEqual(12);
  expect(takeRequests(scene, vault), "ten intervals without a change").toEqual({});

  vault.write(...NAMES.slice(0, 20));
  await scene.clock.advance(2 * MINUTE);
  const cost = { exposed: 20, "patch secrets": 20, "update vaultsecrets": 20, "create events": 20 };
  expect(takeRequests(scene, vault)).toEqual(cost);

  await scene.restart();
  await scene.clock.advance(2 * MINUTE);
  expect(takeRequests(scene, vault), "a restart").toEqual({});
});

test("a target that the watch shows before the response to its POST is reconciled once", async () => {
  const { scene } = start();
  scene.network = {
    watchLagMs: () => 1,
    respond: ({ verb, resource, signal }) =>
      verb === "create" && resource.plural === "secrets"
        ? scene.clock.sleep(50, signal)
        : undefined,
  };
  await scene.clock.advance(MINUTE);
  // Each with the first list of its connection, and a few beyond.
  expect(await reconcilesOf(scene)).toBeLessThan(1.1 * COUNT);
});

test("the proof of a removal costs a few reconciles, however close to its end a list is", async () => {
  const scene = new SimulatedWorld();
  onTestFinished(() => scene[Symbol.asyncDispose]());
  const names = NAMES.slice(0, 4);
  const vault = scene.addVault("shop", names, { whenMissing: "Delete" });
  scene.start();
  await scene.clock.advance(6 * MINUTE);
  const before = await reconcilesOf(scene);
  for (const name of names) {
    vault.remove(name);
    await scene.clock.advance(MINUTE);
  }
  await scene.clock.advance(3 * MINUTE);
  expect(names.filter((name) => scene.value("shop", name) !== undefined)).toEqual([]);
  // The absence, two waits without a list, the proof, and what the watches show afterwards.
  expect((await reconcilesOf(scene)) - before).toBeLessThanOrEqual(6 * names.length);
});

test("a resource that is edited each second costs a status in 2 to 4 s, and shows the last", async () => {
  const { scene, vault } = start();
  await scene.clock.advance(MINUTE);
  takeRequests(scene, vault);
  const edited = NAMES.slice(0, 20);
  for (let second = 0; second < 60; second += 1) {
    const patch = { spec: { target: { whenRemoved: second % 2 === 0 ? "Retain" : "Delete" } } };
    for (const name of edited)
      scene.server.patch(vaultSecretKind, { namespace: "shop", name }, patch);
    // No edit conflicts with the status of an earlier one.
    await scene.clock.advance(1_010);
  }
  await scene.clock.advance(4_000);
  // Four while the time between them grows, and one every 2 to 4 s.
  const { "update vaultsecrets": statuses = 0, ...others } = takeRequests(scene, vault);
  expect(others).toEqual({});
  expect(statuses).toBeGreaterThanOrEqual(20 * (4 + 60 / 4));
  expect(statuses).toBeLessThanOrEqual(20 * (5 + 60 / 2));
  for (const name of edited) {
    const { metadata, ...resource } = scene.server.get(vaultSecretKind, {
      namespace: "shop",
      name,
    });
    expect(resource["status"]).toMatchObject({ observedGeneration: metadata.generation });
  }
});

test("a throttled first sync costs the same and takes as long as the limit of the vault requires", async () => {
  const { scene, vault } = start(20);
  await scene.clock.advance((COUNT / 20) * 1_000 + 2_000);
  expect(NAMES.filter((name) => scene.condition("Ready", name)?.status !== "True")).toEqual([]);
  const { "create events": _, ...cost } = takeRequests(scene, vault);
  expect(cost).toEqual(firstSync);
});
