import { seededRandom } from "../support/seeded-random.ts";
import { type Command, perform } from "./commands.ts";
import { randomCommands } from "./random-commands.ts";
import { settle } from "./convergence.ts";
import { Violation, World } from "./world.ts";
import { WriteRules } from "./write-rules.ts";

/** Steps of one world. The next episode starts with another one. */
const EPISODE_STEPS = 400;

export interface Failure {
  readonly seed: number;
  readonly invariant: string;
  readonly message: string;
  readonly commands: readonly Command[];
}

/** Runs the commands in a new world. Returns the failure, if there is one. */
export async function runEpisode(seed: number, commands: readonly Command[]): Promise<Failure | undefined> {
  const world = new World(seed);
  const rules = new WriteRules(world);
  let done = 0;
  try {
    world.start(0);
    world.start(1);
    for (const command of commands) {
      done += 1;
      if (command.type === "settle") await settle(world, rules);
      else await perform(world, command);
    }
    await settle(world, rules);
    return undefined;
  } catch (error) {
    const invariant = error instanceof Violation ? error.invariant : "exception";
    const message = error instanceof Violation ? error.message : String(error instanceof Error ? error.stack : error);
    return { seed, invariant, message, commands: commands.slice(0, done) };
  } finally {
    world.end();
  }
}

/** Removes commands as long as the same invariant is violated, for at most `limitMs`. */
export async function shrink(failure: Failure, limitMs: number, onProgress: (commands: number) => void): Promise<Failure> {
  const end = performance.now() + limitMs;
  let shortest = failure;
  for (let size = Math.ceil(shortest.commands.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < shortest.commands.length && performance.now() < end;) {
      const commands = shortest.commands.toSpliced(start, size);
      const found = await runEpisode(failure.seed, commands);
      if (found?.invariant === failure.invariant) {
        shortest = found;
        onProgress(found.commands.length);
      } else start += size;
    }
  }
  return shortest;
}

/** Runs episodes until `steps` steps are done or one fails. */
export async function simulate(steps: number, seed: number, onProgress: (done: number) => void): Promise<Failure | undefined> {
  for (let done = 0; done < steps; done += EPISODE_STEPS) {
    const episodeSeed = seed * 1_000_003 + done / EPISODE_STEPS;
    const commands = randomCommands(seededRandom(episodeSeed), Math.min(EPISODE_STEPS, steps - done));
    const failure = await runEpisode(episodeSeed, commands);
    if (failure) return failure;
    onProgress(done + commands.length);
  }
  return undefined;
}
