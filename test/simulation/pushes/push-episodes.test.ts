import { expect, test } from "vitest";
import { randomPushEpisode } from "./push-episode.ts";

const STEPS = 250;

test.each(Array.from({ length: 24 }, (_, seed) => seed))(
  "VaultPushes and entries keep every rule under random commands and faults: episode %i",
  { timeout: 120_000 },
  async (seed) => {
    const failure = await randomPushEpisode(seed, STEPS);
    expect(failure?.message).toBeUndefined();
  },
);
