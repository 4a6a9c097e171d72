import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { EpisodeThread } from "./episode-thread.ts";
import { simulate } from "./simulate.ts";

test.each([
  { statuses: "complete statuses", steps: 20_000, hasShortStatuses: false },
  { statuses: "statuses that omit items", steps: 8_000, hasShortStatuses: true },
])(
  "the operator violates no invariant in $steps random steps with $statuses",
  { timeout: 1_800_000 },
  async ({ steps, hasShortStatuses }) => {
    await using threads = new AsyncDisposableStack();
    const runners = Array.from(
      { length: availableParallelism() },
      () => threads.use(new EpisodeThread({ hasShortStatuses })).run,
    );
    const done: number[] = [];
    expect(
      await simulate({ steps, seed: 2, onProgress: (each) => done.push(each) }, runners),
    ).toBeUndefined();
    expect(done.at(-1)).toBe(steps);
  },
);
