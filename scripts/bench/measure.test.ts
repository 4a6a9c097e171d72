import { expect, test } from "vitest";
import { VirtualClock } from "../../test/lab/clock/virtual-clock.ts";
import { type Case, measureArrivals } from "./measure.ts";

/**
 * Runs ten operations, one every 10 ms. The first takes some time. Returns when each started, and
 * the sample.
 */
async function run(concurrency: number, firstMs: number) {
  const clock = new VirtualClock();
  const starts: number[] = [];
  const measured: Case = {
    name: "one",
    baseline: "one",
    concurrency,
    run: async () => {
      starts.push(clock.monotonic());
      if (starts.length === 1) await clock.sleep(firstMs);
    },
  };
  const sample = measureArrivals(measured, 100, 100, clock);
  await clock.advance(1_000);
  return { starts, sample: await sample };
}

const everyTenMs = Array.from({ length: 10 }, (_, index) => index * 10);

test("operations start when they are due, while a worker is free", async () => {
  const { starts, sample } = await run(2, 200);
  expect(starts).toEqual(everyTenMs);
  expect(sample).toMatchObject({ p50: 0, max: 200 });
});

test("the latency of an operation that waited for a worker begins when it was due", async () => {
  const { starts, sample } = await run(1, 100);
  expect(starts).toEqual([0, ...Array.from({ length: 9 }, () => 100)]);
  expect(sample).toMatchObject({ p50: 55, max: 100 });
});
