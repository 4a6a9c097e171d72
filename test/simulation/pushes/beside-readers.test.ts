import { describe, expect, test } from "vitest";
import { seededRandom } from "../../lab/seeded-random.ts";
import { NAMESPACES } from "../cast.ts";
import type { Command } from "../commands.ts";
import { commandsOf, EPISODE_STEPS, runEpisode, seedOfEpisode } from "../simulate.ts";
import type { BesideCommand } from "./beside-commands.ts";
import { hasPushes, withPushes } from "./beside-readers.ts";
import { besideNames, besideSequence } from "./beside-scenes.ts";

/** As many episodes as 100,000 steps have. */
const seeds = Array.from({ length: 100_000 / EPISODE_STEPS }, (_, index) =>
  seedOfEpisode(1, index),
);
const pushing = seeds.filter(hasPushes);

const isPush = (command: Command): command is BesideCommand => command.type === "push";

test("a share of the episodes has VaultPushes, and all others are unchanged", () => {
  expect(pushing.length / seeds.length).toBeGreaterThan(0.1);
  expect(pushing.length / seeds.length).toBeLessThan(0.2);
  const other = seeds.find((seed) => !hasPushes(seed))!;
  const commands = commandsOf(other, EPISODE_STEPS);
  expect(commands.filter(isPush)).toEqual([]);
  expect(withPushes(commands, other)).toEqual(commands);
});

test("random commands take every step with a VaultPush, in all namespaces", () => {
  const steps = pushing.flatMap((seed) => commandsOf(seed, EPISODE_STEPS).filter(isPush));
  const hows: readonly BesideCommand["how"][] = [
    "put",
    "delete",
    "delete-source",
    "force",
    "set",
    "remove-key",
    "share",
  ];
  expect(new Set(steps.map(({ how }) => how))).toEqual(new Set(hows));
  const puts = steps.flatMap((step) => (step.how === "put" ? [step] : []));
  expect(new Set(puts.map(({ namespace }) => namespace))).toEqual(new Set(NAMESPACES));
  // A chain and both loops have a Secret that another resource writes.
  const secrets = puts.map(({ spec }) => (spec as { secret: { name: string } }).secret.name);
  expect(secrets).toEqual(
    expect.arrayContaining(["source", "pushed", "middle", "loop-1", "loop-2"]),
  );
});

describe("resources follow what VaultPushes write, and lose nothing that is not deleted:", () => {
  test.for(besideNames)("%s", { timeout: 120_000 }, async (name) => {
    for (const seed of [1, 2, 3]) {
      const commands = besideSequence(seededRandom(seed), "a", name);
      expect(await runEpisode(seed, commands)).toBeUndefined();
    }
  });
});
