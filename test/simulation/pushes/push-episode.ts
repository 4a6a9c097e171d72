import type { Random } from "../../../src/lib/random.ts";
import { apiFaults, vaultFaults } from "../networks.ts";
import { NAMESPACES, Violation } from "../world.ts";
import { KEYS, pushed, PushWorld, VAULT } from "./push-world.ts";

/**
 * Time in milliseconds after which everything must have converged: the longest pause of a login,
 * and of a contested entry.
 */
const LIMIT_MS = 7_200_000;
const STEP_MS = 60_000;
const QUIET_MS = 600_000;

/** Runs random commands and faults against two replicas in a new world. @throws Violation */
export async function runPushEpisode(seed: number, steps: number): Promise<void> {
  const scene = new PushWorld(seed);
  const { world } = scene;
  try {
    world.replicas.startAll();
    for (let step = 0; step < steps; step += 1) {
      await command(scene, world.random);
      scene.checkVersions();
    }
    await settle(scene);
  } finally {
    world.end();
  }
}

/**
 * Ends all faults, and waits until the vault has the bytes of the Secrets and nothing more is
 * pushed.
 */
async function settle(scene: PushWorld): Promise<void> {
  const { world } = scene;
  world.calm();
  for (let waited = 0; ; waited += STEP_MS) {
    await world.advance(STEP_MS);
    scene.checkVersions();
    const wrong = scene.difference();
    if (wrong === undefined) break;
    if (waited >= LIMIT_MS) throw new Violation("P2", wrong);
  }
  await world.advance(QUIET_MS);
  scene.checkVersions();
  const wrong = scene.difference();
  if (wrong !== undefined) throw new Violation("P2", wrong);
}

async function command(scene: PushWorld, random: Random): Promise<void> {
  const { world } = scene;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const [namespace, key, replica] = [pick(NAMESPACES), pick(KEYS), pick([0, 1])];
  const kind = random();
  if (kind < 0.4) return world.advance(10 + Math.floor(random() ** 3 * 60_000));
  if (kind < 0.56) return scene.change(namespace, key, random() < 0.2);
  if (kind < 0.58) return scene.spoil(namespace, key, pick(["remove", "empty"]));
  if (kind < 0.59) return scene.deleteSource(namespace);
  if (kind < 0.65) return scene.disturb(pick(pushed), random() < 0.8 ? "write" : "delete");
  if (kind < 0.7) return world.replicas.crash(replica);
  if (kind < 0.72) return world.replicas.stop(replica);
  if (kind < 0.78) return world.replicas.start(replica);
  if (kind < 0.81) return world.replicas.suspend(replica);
  if (kind < 0.85) return world.replicas.resume(replica);
  if (kind < 0.89)
    return void world.faults.vault.set(VAULT, { fault: pick(vaultFaults), share: random() });
  if (kind < 0.92) return void world.faults.api.set(pick(apiFaults), random());
  if (kind < 0.97) return world.endFaults();
  if (kind < 0.98) return void (world.faults.watchLagMs = Math.floor(random() * 5_000));
  if (kind < 0.99) return world.silenceWatches();
  for (const watch of world.server.watches()) watch.drop();
}
