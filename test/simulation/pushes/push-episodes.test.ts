import { expect, test } from "vitest";
import { runPushEpisode } from "./push-episode.ts";

const STEPS = 250;

test.each(Array.from({ length: 12 }, (_, seed) => seed))(
  "every change of a Secret is pushed at most once, and by the leader: episode %i",
  { timeout: 120_000 },
  async (seed) => {
    await expect(runPushEpisode(seed, STEPS)).resolves.toBeUndefined();
  },
);
