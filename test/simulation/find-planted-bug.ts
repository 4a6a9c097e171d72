import { plantedBugs } from "./planted-bugs.ts";
import { EPISODE_STEPS, seedOfEpisode, type Failure, type RunEpisode } from "./simulate.ts";

/** The result of a search for a planted bug. */
export interface Finding {
  /** Number of steps until the violation; `undefined` if there was none. */
  readonly steps: number | undefined;
  readonly violation: string | undefined;
  /** Violations in the same episodes without the bug: they are not due to it. */
  readonly control: readonly string[];
}

/**
 * Runs random episodes with a bug, and each of them without it, until one violates an expected
 * invariant only with the bug; for at most `steps` steps, from episode `first` on.
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
    const [violation, other] = await Promise.all([
      broken(of, EPISODE_STEPS),
      intact(of, EPISODE_STEPS),
    ]);
    if (other)
      control.push(`seed ${seed}, episode ${first + done / EPISODE_STEPS}: ${other.message}`);
    else if (violation && expected.includes(violation.invariant))
      return { ...found(violation, done), control };
  }
  return { steps: undefined, violation: undefined, control };
}

const found = ({ commands, message }: Failure, done: number) => ({
  steps: done + commands.length,
  violation: message,
});
