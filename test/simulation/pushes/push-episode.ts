import { onUnhandledRejection, type Failure, type RunEpisode } from "../simulate.ts";
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
  using _ = onUnhandledRejection((error) =>
    world.violations.push(new Violation("exception", `unhandled rejection: ${error}`)),
  );
  let done = 0;
  try {
    world.replicas.startAll();
    for (const command of commands) {
      done += 1;
      if (command.type === "settle") await settle(scene, rules);
      else await performPush(scene, command);
    }
    await settle(scene, rules);
    await new Promise<void>((resolve) => setImmediate(resolve));
    await world.advance(0);
    return undefined;
  } catch (error) {
    const isViolation = error instanceof Violation;
    const invariant = isViolation ? error.invariant : "exception";
    const message = isViolation
      ? error.message
      : String(error instanceof Error ? error.stack : error);
    return { seed, invariant, message, commands: commands.slice(0, done) };
  } finally {
    world.end();
  }
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
