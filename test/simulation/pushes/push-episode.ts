import { type Failure, type RunEpisode, runCommands } from "../simulate.ts";
import { Violation, World } from "../world.ts";
import { type PushCommand, performPush } from "./push-commands.ts";
import { difference } from "./push-expectations.ts";
import { PushRules } from "./push-rules.ts";
import { PushWorld } from "./push-world.ts";
import { pushCommandsOf } from "./random-push-commands.ts";

/**
 * Time in milliseconds after which everything must have converged: the longest pause of a login,
 * and of a contested entry.
 */
const LIMIT_MS = 7_200_000;
const STEP_MS = 60_000;
const QUIET_MS = 300_000;
/** Steps without a difference after which everything has converged. */
const CALM_STEPS = 3;
/** Steps in which a watch may show nothing. */
const SILENT_STEPS = 12;

/** Runs the commands in a new world. Returns the failure, if there is one. */
export async function runPushEpisode(
  seed: number,
  commands: readonly PushCommand[],
): Promise<Failure<PushCommand> | undefined> {
  const world = new World(seed);
  const scene = new PushWorld(world);
  const rules = new PushRules(scene);
  return runCommands(
    world,
    { seed, commands },
    {
      step: (command) =>
        command.type === "settle" ? settle(scene, rules) : performPush(scene, command),
      end: () => settle(scene, rules),
    },
  );
}

export const randomPushEpisode: RunEpisode<PushCommand> = (seed, steps, upTo) =>
  runPushEpisode(seed, pushCommandsOf(seed, steps).slice(0, upTo));

/**
 * Ends all faults, and waits until the vault has the bytes of the Secrets, or a reason says why
 * not, and nothing more is written (P2).
 */
async function settle(scene: PushWorld, rules: PushRules): Promise<void> {
  const { world } = scene;
  world.calm();
  let calm = world.hasSilentWatches ? -SILENT_STEPS : 0;
  for (let waited = 0; calm < CALM_STEPS; waited += STEP_MS) {
    const { writes } = rules;
    await world.advance(STEP_MS);
    const wrong = difference(scene) ?? (rules.writes > writes ? "more writes" : undefined);
    if (wrong !== undefined && waited >= LIMIT_MS) throw new Violation("P2", wrong);
    calm = wrong === undefined ? calm + 1 : Math.min(calm + 1, 0);
  }
  const { writes } = rules;
  const start = world.clock.now();
  await world.advance(QUIET_MS);
  const isDue = scene.hasDeadlineBetween(start - STEP_MS, world.clock.now());
  if (rules.writes > writes && !isDue)
    throw new Violation("P2", `${rules.writes - writes} writes although nothing changed`);
}
