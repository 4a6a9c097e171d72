import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { EpisodeThread } from "./episode-thread.ts";
import { simulate } from "./simulate.ts";

test(
  "the operator violates no invariant in 20,000 random steps",
  { timeout: 600_000 },
  async () => {
    await using threads = new AsyncDisposableStack();
    const runners = Array.from(
      { length: availableParallelism() },
      () => threads.use(new EpisodeThread()).run,
    );
    const done: number[] = [];
    expect(await simulate(20_000, 2, (steps) => done.push(steps), runners)).toBeUndefined();
    expect(done.at(-1)).toBe(20_000);
  },
);
