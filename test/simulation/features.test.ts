import { beforeAll, describe, expect, test } from "vitest";
import { type Episode, fieldsIn, fieldsOf } from "./features.ts";
import { PairCounts, possiblePairs } from "./pairs.ts";
import { commandsOf, EPISODE_STEPS, seedOfEpisode } from "./simulate.ts";

/** As many episodes as 400,000 steps have, for single fields, and as 100,000 have, for pairs. */
const EPISODES = 400_000 / EPISODE_STEPS;
const EPISODES_OF_PAIRS = 100_000 / EPISODE_STEPS;

/** Fields that no command writes, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {
  "rolloutRestart[].kind=Rollout":
    "the simulated cluster has no Argo Rollouts; restart tests have them",
};

let episodes: readonly Episode[];

beforeAll(() => {
  episodes = Array.from({ length: EPISODES }, (_, index) => {
    const seed = seedOfEpisode(1, index);
    return { seed, commands: commandsOf(seed, EPISODE_STEPS) };
  });
});

const isExcepted = (path: string): boolean =>
  Object.keys(exceptions).some((exception) => path.startsWith(exception));

describe("random commands", () => {
  test.for(["VaultSecret", "VaultFile", "VaultConnection", "ClusterVaultConnection"] as const)(
    "write every field of a %s",
    (kind) => {
      const written = new Set(
        episodes.flatMap(({ commands }) => commands.flatMap((command) => [...fieldsIn(command)])),
      );
      // Both kinds of connections have these fields from one schema, and one code follows them.
      const shared =
        kind === "ClusterVaultConnection" ? fieldsOf.VaultConnection : new Set<string>();
      const never = [...fieldsOf[kind]].filter(
        (path) => !shared.has(path) && !written.has(`${kind} ${path}`),
      );
      expect(never.filter((path) => !isExcepted(path))).toEqual([]);
    },
  );

  test("reach every pair of features that a user can write in 100,000 steps", () => {
    const counts = new PairCounts();
    for (const episode of episodes.slice(0, EPISODES_OF_PAIRS)) counts.add(episode);
    expect(possiblePairs().length).toBeGreaterThan(1_000);
    expect(counts.missing()).toEqual([]);
  });
});
