import { seededRandom } from "../lab/seeded-random.ts";
import { withBrokenConnections } from "./broken-connections.ts";
import { type Command, perform } from "./commands.ts";
import { withCoincidingChanges } from "./coinciding-changes.ts";
import { hasClusterConnections, withClusterConnections } from "./cluster-connections.ts";
import { withHeldEdits } from "./held-edits.ts";
import { withIdentities } from "./identities.ts";
import { withPushes } from "./pushes/beside-readers.ts";
import { PushesBeside } from "./pushes/pushes-beside.ts";
import { withQuietScenes } from "./quiet-scenes.ts";
import { hasFanOut, withFanOut } from "./random-fan-out.ts";
import { randomCommands } from "./random-commands.ts";
import { withRareSequences } from "./rare-sequences.ts";
import { withReportedUses } from "./invariants/consumers.ts";
import { withTopology } from "./random-topology.ts";
import { withWipedStatuses } from "./wiped-statuses.ts";
import { checkForcedSyncs } from "./invariants/forced-syncs.ts";
import { settle } from "./convergence.ts";
import { checkRestart } from "./restart.ts";
import { Violation, World } from "./world.ts";
import { WriteRules } from "./write-rules.ts";

/** Steps of one world. The next episode starts with another one. */
export const EPISODE_STEPS = 400;
/** One seed in so many ends with a restart: each would take a seventh of the time. */
const SEEDS_PER_RESTART = 5;
const SEEDS_PER_FORCED_SYNC = 5;

export interface Failure<C = Command> {
  readonly seed: number;
  readonly invariant: string;
  readonly message: string;
  readonly commands: readonly C[];
}

/** Runs the commands in a new world. Returns the failure, if there is one. */
export async function runEpisode(
  seed: number,
  commands: readonly Command[],
): Promise<Failure | undefined> {
  const world = new World(seed);
  const pushes = PushesBeside.of(world, commands);
  const rules = new WriteRules(world, pushes);
  return runCommands(
    world,
    { seed, commands },
    {
      step: (command) => {
        pushes?.before(command);
        return command.type === "settle" ? settle(world, rules) : perform(world, command);
      },
      end: async () => {
        await settle(world, rules);
        if (seed % SEEDS_PER_FORCED_SYNC === 3) await checkForcedSyncs(world);
        if (seed % SEEDS_PER_RESTART === 2) await checkRestart(world, rules);
      },
    },
  );
}

/** Runs commands in a world, and ends it. Returns the failure, if there is one. */
export async function runCommands<C>(
  world: World,
  { seed, commands }: Pick<Failure<C>, "seed" | "commands">,
  {
    step,
    end,
  }: { readonly step: (command: C) => Promise<void>; readonly end: () => Promise<void> },
): Promise<Failure<C> | undefined> {
  using _ = onUnhandledRejection((error) =>
    world.violations.push(new Violation("exception", `unhandled rejection: ${error}`)),
  );
  let done = 0;
  try {
    world.replicas.startAll();
    for (const command of commands) {
      done += 1;
      await step(command);
    }
    await end();
    await new Promise<void>((resolve) => setImmediate(resolve));
    await world.advance(0);
    return undefined;
  } catch (error) {
    const invariant = error instanceof Violation ? error.invariant : "exception";
    const message =
      error instanceof Violation
        ? error.message
        : String(error instanceof Error ? error.stack : error);
    return { seed, invariant, message, commands: commands.slice(0, done) };
  } finally {
    world.end();
  }
}

/**
 * Calls `listener` for each rejection that is not handled by the end of a turn of the event loop,
 * instead of ending the process.
 */
function onUnhandledRejection(listener: (error: string) => void): Disposable {
  const report = (error: unknown): void =>
    listener(String(error instanceof Error ? error.stack : error));
  process.on("unhandledRejection", report);
  return { [Symbol.dispose]: () => void process.off("unhandledRejection", report) };
}

/** Removes commands as long as the same invariant is violated, for at most `limitMs`. */
export async function shrink<C>(
  failure: Failure<C>,
  limitMs: number,
  onProgress: (commands: number) => void,
  run: (seed: number, commands: readonly C[]) => Promise<Failure<C> | undefined>,
): Promise<Failure<C>> {
  const end = performance.now() + limitMs;
  let shortest = failure;
  for (
    let size = Math.ceil(shortest.commands.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let start = 0; start < shortest.commands.length && performance.now() < end;) {
      const commands = shortest.commands.toSpliced(start, size);
      const found = await run(failure.seed, commands);
      if (found?.invariant === failure.invariant) {
        shortest = found;
        onProgress(found.commands.length);
      } else start += size;
    }
  }
  return shortest;
}

/**
 * Runs an episode of random commands, or the first `upTo` of them. Equal seeds give equal episodes.
 */
export type RunEpisode<C = Command> = (
  seed: number,
  steps: number,
  upTo?: number,
) => Promise<Failure<C> | undefined>;

export const randomEpisode: RunEpisode = (seed, steps, upTo) =>
  runEpisode(seed, commandsOf(seed, steps).slice(0, upTo));

/** Returns the random commands of an episode. */
export function commandsOf(seed: number, steps: number): Command[] {
  const commands = randomCommands(seededRandom(seed), steps);
  const isWide = hasFanOut(seed);
  const connected =
    isWide || hasClusterConnections(seed)
      ? withClusterConnections(commands, seededRandom(-seed))
      : commands;
  const wide = isWide ? withFanOut(connected, seed) : connected;
  const rare = withRareSequences(withTopology(wide, seed), seed);
  const varied = withQuietScenes(withHeldEdits(withCoincidingChanges(rare, seed), seed), seed);
  const broken = withBrokenConnections(withPushes(varied, seed), seed);
  const wiped = withWipedStatuses(withIdentities(broken, seed), seed);
  return withReportedUses(wiped, seed);
}

/** Returns the seed of an episode, counted from 0, of a run with `seed`. */
export const seedOfEpisode = (seed: number, episode: number): number => seed * 1_000_003 + episode;

interface Run {
  readonly steps: number;
  readonly seed: number;
  /** The first episode; 0 by default. */
  readonly from?: number;
  readonly onProgress: (done: number) => void;
  /** Called with each violation. Without it, the first one ends the run. */
  readonly onFailure?: (episode: number, failure: Pick<Failure, "message">) => void;
}

/**
 * Runs episodes until `steps` steps are done or one fails; one in each runner at a time. Returns
 * the failure of the first episode that has one, regardless of the number of runners.
 */
export async function simulate<C>(
  { steps, seed, from = 0, onProgress, onFailure }: Run,
  runners: readonly RunEpisode<C>[],
): Promise<Failure<C> | undefined> {
  const failures = new Map<number, Failure<C>>();
  let [started, done] = [0, 0];
  const hasMore = (): boolean =>
    started * EPISODE_STEPS < steps && (failures.size === 0 || onFailure !== undefined);
  const work = async (run: RunEpisode<C>): Promise<void> => {
    // Episodes before the one that fails have started already, and end.
    while (hasMore()) {
      const index = started++;
      const count = Math.min(EPISODE_STEPS, steps - index * EPISODE_STEPS);
      const failure = await run(seedOfEpisode(seed, from + index), count);
      if (failure) {
        failures.set(index, failure);
        onFailure?.(from + index, failure);
      }
      if (failure === undefined || onFailure !== undefined) onProgress((done += count));
    }
  };
  await Promise.all(runners.map(work));
  return failures.get(Math.min(...failures.keys()));
}
