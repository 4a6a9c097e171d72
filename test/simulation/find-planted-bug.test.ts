import { describe, expect, test } from "vitest";
import { findPlantedBug } from "./find-planted-bug.ts";
import { advance } from "./scenes.ts";
import { EPISODE_STEPS, type RunEpisode, seedOfEpisode } from "./simulate.ts";

const BUG = "a deadline of another connection";
const range = { seed: 1, first: 2, steps: 4 * EPISODE_STEPS };

/**
 * Returns a runner whose episodes violate these invariants after three commands, from the first
 * episode of the range on.
 */
function violating(invariants: readonly (string | undefined)[]): RunEpisode {
  return (seed) => {
    const invariant = invariants[seed - seedOfEpisode(range.seed, range.first)];
    const commands = Array.from({ length: 3 }, () => advance(1));
    return Promise.resolve(
      invariant === undefined
        ? undefined
        : { seed, invariant, message: `${invariant}: found`, commands },
    );
  };
}

const intact = violating([]);

describe("the search for a planted bug", () => {
  test("counts the steps until the first violation that the bug must cause", async () => {
    const finding = await findPlantedBug(BUG, range, {
      broken: violating([undefined, "I5", "I1"]),
      intact,
    });
    expect(finding).toEqual({ steps: 2 * EPISODE_STEPS + 3, violation: "I1: found", control: [] });
  });

  test("does not count a violation that occurs without the bug as well", async () => {
    const runners = { broken: violating(["I1", "I1"]), intact: violating(["I4"]) };
    const finding = await findPlantedBug(BUG, range, runners);
    expect(finding).toEqual({
      steps: EPISODE_STEPS + 3,
      violation: "I1: found",
      control: ["seed 1, episode 2: I4: found"],
    });
  });

  test("finds nothing if the violation comes after the last step", async () => {
    const broken = violating([undefined, undefined, undefined, undefined, "I1"]);
    expect(await findPlantedBug(BUG, range, { broken, intact })).toMatchObject({
      steps: undefined,
    });
  });
});
