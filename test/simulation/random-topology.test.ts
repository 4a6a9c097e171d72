import { expect, test } from "vitest";
import { operatorFlags } from "../../src/operator/config.ts";
import { seededRandom } from "../lab/seeded-random.ts";
import { randomFlags, UNSIMULATED_FLAGS } from "./random-flags.ts";
import { commandsOf, seedOfEpisode } from "./simulate.ts";
import { pathsOf, schemaPaths } from "./features.ts";
import { topologyFeatures } from "./topology-features.ts";

const known = schemaPaths(operatorFlags);

test("random configurations contain every flag with each choice, except for those with a reason", () => {
  const found = new Set(
    Array.from({ length: 500 }, (_, seed) => [
      ...pathsOf(randomFlags(seededRandom(seed)), known),
    ]).flat(),
  );
  const expected = [...known].filter((path) => !Object.hasOwn(UNSIMULATED_FLAGS, path));
  expect(expected.filter((path) => !found.has(path))).toEqual([]);
  for (const path of Object.keys(UNSIMULATED_FLAGS)) {
    expect(known).toContain(path);
    expect(found).not.toContain(path);
  }
});

test("each episode has a few topologies, and 100 episodes have all", () => {
  const episodes = Array.from({ length: 100 }, (_, episode) => ({
    commands: commandsOf(seedOfEpisode(1, episode), 400),
  }));
  const features = Object.entries(topologyFeatures);
  const counts = episodes.map((episode) => features.filter(([, isIn]) => isIn(episode)).length);
  expect(features.filter(([, isIn]) => !episodes.some(isIn)).map(([name]) => name)).toEqual([]);
  expect(
    episodes.filter(({ commands }) => commands.every(({ type }) => type !== "configure")).length,
  ).toBeGreaterThan(10);
  expect(Math.max(...counts)).toBeLessThan(features.length / 1.5);
  expect(commandsOf(seedOfEpisode(1, 3), 400)).toEqual(episodes[3]?.commands);
});
