import { plantedBugs } from "./planted-bugs.ts";
import { EPISODE_STEPS, seedOfEpisode, type Failure, type RunEpisode } from "./simulate.ts";

/** The result of a search for a planted bug. */
export interface Finding {
  /** Number of steps until the violation; `undefined` if there was none. */
  readonly steps: number | undefined;
  readonly violation: string | undefined;
  /** Violations of the same commands without the bug: they are not due to it. */
  readonly control: readonly string[];
}

/**
 * Runs random episodes with a bug until one violates an expected invariant, and its commands do not
 * without the bug; for at most `steps` steps, from episode `first` on.
 *
 * @param broken runs episodes of the operator with the bug
 * @param intact runs episodes of the operator without it
 */
export async function findPlantedBug(
  bug: string,
  {
    seed,
    first = 0,
    steps,
  }: { readonly seed: number; readonly first?: number; readonly steps: number },
  { broken, intact }: { readonly broken: RunEpisode; readonly intact: RunEpisode },
): Promise<Finding> {
  const expected = plantedBugs[bug]?.invariants ?? [];
  const control: string[] = [];
  for (let done = 0; done < steps; done += EPISODE_STEPS) {
    const of = seedOfEpisode(seed, first + done / EPISODE_STEPS);
    const violation = await broken(of, EPISODE_STEPS);
    if (!violation || !expected.includes(violation.invariant)) continue;
    const other = await intact(of, EPISODE_STEPS, violation.commands.length);
    if (!other) return { ...found(violation, done), control };
    control.push(`seed ${seed}, episode ${first + done / EPISODE_STEPS}: ${other.message}`);
  }
  return { steps: undefined, violation: undefined, control };
}

const found = ({ commands, message }: Failure, done: number) => ({
  steps: done + commands.length,
  violation: message,
});
