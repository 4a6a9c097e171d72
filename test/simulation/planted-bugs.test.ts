import { afterAll, describe, expect, test } from "vitest";
import { EpisodeThread } from "./episode-thread.ts";
import { findPlantedBug } from "./find-planted-bug.ts";
import { sourcesWith } from "./plant.ts";
import { isPushBug, plantedBugs } from "./planted-bugs.ts";
import { EPISODE_STEPS } from "./simulate.ts";

/** Number of episodes within which each bug must be found. */
const EPISODES = 10;

/**
 * The bugs that this suite looks for, with the first episode of each run. That episode finds the
 * bug today: the run takes seconds. Later ones follow if it does not. `npm run simulation:bugs`
 * looks for all, and prints after how many steps it finds each: divided by {@link EPISODE_STEPS},
 * the number of the episode.
 */
const firstEpisodes: Readonly<Record<string, number>> = {
  "writes without a fence": 16,
  "404 read as an empty list": 20,
  "writes without a check of the owner": 9,
  "a restart within the quiet window": 36,
  "a changed content without a restart": 1,
  "no wake-up after a change in the vault": 13,
  "no wake-up after a change of the connection": 4,
  "a deadline of another connection": 6,
  "a merge without the version that was read": 56,
  "a changed policy without a release": 50,
  "a held list for a forced sync": 5,
  "a watch of all namespaces with --namespaces": 1,
  "a watch of Secrets with --target-watch=off": 0,
  "restarts of workloads with --auto-restart=off": 0,
  "removed values that stay": 18,
  "secrets of a stranger": 48,
  "an absence of a name instead of an entry": 1,
  "an edited policy without the blast limit": 25,
  "a hold that no status shows": 48,
  "a rule that ignores metadata": 6,
  "a found name without a key that stops all names": 29,
  "a changed template without a write": 41,
  "labels that are lost": 15,
  "every version accepted": 11,
  "a forced sync without its list": 15,
  "a hold that ignores the version which it names": 42,
  "a hold of everything that follows the vault": 50,
  "a hold that lets a frozen target get found names": 43,
  "an emptied status that opens a gate": 13,
  "removed bytes that stay under another key": 30,
  "a renamed key that leaves with its bytes": 22,
  "a refreshInterval that is ignored": 10,
  "values of any content": 7,
  "a restart outside of its windows": 24,
  "a proof without the pods that terminate": 79,
  "a push of bytes that the vault has": 0,
  "two VaultPushes to one entry": 1,
  "a takeover while the older VaultPush is unknown": 6,
  "a suspended VaultPush that pushes": 2,
  "no limit of versions": 0,
  "Retain read as Delete": 2,
  "a deletion of what others wrote": 0,
  "a deletion of a shared entry": 1,
  "a deletion of what a trusting account pushes to": 2,
  "an entry that is not followed while its VaultPush is suspended": 11,
  "a record of an entry that the spec does not name any more": 3,
  "Ready without the bytes of a key": 0,
  "a loop of one Secret and one entry": 8,
  "a target that is pushed at the next check": 19,
  "a found name that joins its own rule": 113,
  "unselected targets that are deleted": 17,
  "labels of a namespace that are read once": 87,
  "owner references that stay after a restart": 24,
  "Ready before all namespaces are synced": 262,
  "annotations of a resource that no namespace follows": 101,
  "names of namespaces without the selector": 87,
};

test.each(Object.keys(plantedBugs))("the sources have the place of the planted bug: %s", (bug) => {
  expect(sourcesWith(bug).size).toBeGreaterThan(0);
});

const intact = new EpisodeThread();
const intactPushes = new EpisodeThread({ pushes: true });

afterAll(() => Promise.all([intact, intactPushes].map((one) => one[Symbol.asyncDispose]())));

describe("random commands find a planted bug, and violate nothing without it:", () => {
  test.for(Object.keys(firstEpisodes))("%s", { timeout: 1_800_000 }, async (bug) => {
    const pushes = isPushBug(bug);
    await using broken = new EpisodeThread({ bug, pushes });
    const range = { seed: 1, first: firstEpisodes[bug]!, steps: EPISODES * EPISODE_STEPS };
    const { steps, violation, control } = await findPlantedBug(bug, range, {
      broken: broken.run,
      intact: pushes ? intactPushes.run : intact.run,
    });
    expect({ isFound: steps !== undefined, violation, control }).toEqual({
      isFound: true,
      violation: expect.stringMatching(
        new RegExp(`^(${plantedBugs[bug]?.invariants.join("|")}): `),
      ) as string,
      control: [],
    });
  });
});
