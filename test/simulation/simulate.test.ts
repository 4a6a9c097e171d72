import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { TargetRecords } from "../../src/operator/controllers/sync/target-records.ts";
import { SyncController } from "../../src/operator/controllers/sync/sync-controller.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";
import { WorkQueue } from "../../src/operator/runtime/work-queue.ts";
import { seededRandom } from "../lab/seeded-random.ts";
import { type Command, perform } from "./commands.ts";
import { randomCommands } from "./random-commands.ts";
import { settle } from "./convergence.ts";
import { checkRestart } from "./restart.ts";
import { advance, connection, ENTRY, resource, SYNCED } from "./scenes.ts";
import { type Failure, runEpisode, type RunEpisode, shrink, simulate } from "./simulate.ts";
import { SYSTEM_NAMESPACE, World } from "./world.ts";
import { WriteRules } from "./write-rules.ts";

/**
 * The secret arrives only if a change of the vault wakes up the resource: not at the end of the
 * resource's wait of five minutes.
 */
const needed: readonly Command[] = [
  connection(),
  resource("alpha"),
  advance(400_000),
  { type: "write-secret", ...ENTRY },
];

afterEach(() => void vi.restoreAllMocks());

/** Runs the commands and returns every write at the API server. */
async function traceOf(seed: number, commands: readonly Command[]): Promise<string[]> {
  const world = new World(seed);
  const trace: string[] = [];
  world.server.onCommit(({ resource: { plural }, version, before, after, user }) => {
    const { name } = (after ?? before)!.metadata;
    // The key of the digest is random.
    const status = JSON.stringify(after?.["status"], (field, value: unknown) =>
      field === "digest" ? "" : value,
    );
    trace.push(`${world.clock.monotonic()} ${version} ${user} ${plural} ${name} ${status}`);
  });
  world.replicas.startAll();
  for (const command of commands) await perform(world, command);
  world.end();
  return trace;
}

const ignore = (): void => undefined;
const failing: RunEpisode = (seed) =>
  Promise.resolve({ seed, invariant: "I1", message: "planted", commands: [] });

describe("simulation", { timeout: 600_000 }, () => {
  test("writes the same for the same seed", async () => {
    const commands = randomCommands(seededRandom(3), 120);
    const trace = await traceOf(3, commands);
    expect(trace.length).toBeGreaterThan(100);
    expect(await traceOf(3, commands)).toEqual(trace);
    expect(await traceOf(4, commands)).not.toEqual(trace);
  });

  test("shrinks a failure to the commands that it needs", async () => {
    vi.spyOn(SyncController.prototype, "onSnapshotChange").mockReturnValue();
    const idle = advance(10);
    const failure = await runEpisode(2, [idle, ...needed, idle, idle]);
    expect(failure).toMatchObject({ invariant: "I5" });
    const { commands, invariant } = await shrink(failure!, 300_000, () => undefined, runEpisode);
    expect(invariant).toBe("I5");
    expect(commands).toEqual(needed);
  });

  test("finds a retry without a backoff", async () => {
    vi.spyOn(WorkQueue.prototype, "retry").mockImplementation(function (this: WorkQueue, key) {
      this.add(key, "drift");
    });
    const fault: Command = { type: "api-fault", fault: "refused", share: 1 };
    const failure = await runEpisode(1, [...SYNCED, fault, resource("beta"), advance(60_000)]);
    expect(failure).toMatchObject({
      invariant: "I10",
      message: expect.stringMatching(/more than \d+ .* in a minute/u),
    });
  });

  test("finds a target that a restart changes", async () => {
    const world = new World(1);
    const rules = new WriteRules(world);
    world.replicas.startAll();
    for (const command of SYNCED) await perform(world, command);
    await settle(world, rules);
    await checkRestart(world, rules);
    // The restarted process reads the target, and has another key than the one that signed it.
    world.server.delete(SECRETS, { namespace: SYSTEM_NAMESPACE, name: "vaultsync-content-key" });
    vi.spyOn(TargetRecords.prototype, "markVerified").mockReturnValue();
    await expect(checkRestart(world, rules)).rejects.toThrow(
      "I14: a restart changed VaultSecret one/alpha from",
    );
    world.end();
  });

  test("reports the first episode that fails, whichever ends first", async () => {
    const failures = new Map<number, Failure>();
    const run: RunEpisode = async (seed, steps) => {
      const index = seed - 5 * 1_000_003;
      await sleep(index === 3 ? 20 : 1);
      const failure = { seed, invariant: "I1", message: `${steps} steps`, commands: [] };
      if (index < 3) return undefined;
      failures.set(index, failure);
      return failure;
    };
    const done: number[] = [];
    const failure = await simulate(
      { steps: 10_000, seed: 5, onProgress: (steps) => done.push(steps) },
      [run, run, run],
    );
    expect(failure).toBe(failures.get(3));
    expect(new Set(failures.keys())).toEqual(new Set([3, 4, 5]));
    expect(done).toEqual([400, 800, 1_200]);
  });

  test("runs as many steps as are asked for", async () => {
    const episodes: number[] = [];
    const run: RunEpisode = (_seed, steps) => Promise.resolve(void episodes.push(steps));
    expect(
      await simulate({ steps: 1_000, seed: 1, onProgress: ignore }, [run, run]),
    ).toBeUndefined();
    expect(episodes).toEqual([400, 400, 200]);
  });

  test("continues after violations, from the episode that is asked for", async () => {
    const found: number[] = [];
    const done: number[] = [];
    const failure = await simulate(
      {
        steps: 1_200,
        seed: 1,
        from: 7,
        onProgress: (steps) => done.push(steps),
        onFailure: (episode) => found.push(episode),
      },
      [failing],
    );
    expect(found).toEqual([7, 8, 9]);
    expect(done).toEqual([400, 800, 1_200]);
    expect(failure?.seed).toBe(1_000_010);
  });
});
