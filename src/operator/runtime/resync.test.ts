import { expect, test } from "vitest";
import { promiseJobs, VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { resync } from "./resync.ts";

/** Runs a resync of these keys, and records what it requeues when. */
function scene(everyMs: number, keys: string[]) {
  const clock = new VirtualClock(0, promiseJobs);
  const requeued: [string, number][] = [];
  const stop = new AbortController();
  const requeue = (key: string): void => void requeued.push([key, clock.monotonic()]);
  const running = resync({ everyMs, keys: () => keys }, requeue, clock, stop.signal);
  return { clock, requeued, stop, running, keys };
}

test("each round requeues every key once, fifty together, spread evenly over it", async () => {
  const keys = Array.from({ length: 100 }, (_, index) => `${index}`);
  const { clock, requeued } = scene(4_000, keys);
  await clock.advance(8_000);
  const at = (times: readonly number[]): [string, number][] =>
    keys.map((key, index) => [key, times[Math.floor(index / 50)] ?? 0]);
  expect(requeued).toEqual([...at([2_000, 4_000]), ...at([6_000, 8_000])]);
});

test("more keys than fifty per second of a round share its steps", async () => {
  const keys = Array.from({ length: 700 }, (_, index) => `${index}`);
  const { clock, requeued } = scene(3_000, keys);
  await clock.advance(3_000);
  const counts = [1_000, 2_000, 3_000].map(
    (at) => requeued.filter(([, time]) => time === at).length,
  );
  expect(counts).toEqual([233, 233, 234]);
  expect(requeued.map(([key]) => key)).toEqual(keys);
});

test("a round of less than a second is one step", async () => {
  const { clock, requeued } = scene(500, ["a", "b"]);
  await clock.advance(500);
  expect(requeued).toEqual([
    ["a", 500],
    ["b", 500],
  ]);
});

test("a key that appears during a round is requeued in the next, also when there was none before", async () => {
  const { clock, requeued, keys } = scene(2_000, []);
  await clock.advance(1_000);
  keys.push("a");
  await clock.advance(3_000);
  expect(requeued).toEqual([["a", 4_000]]);
});

test("a resync of 0 ends immediately, without a timer", async () => {
  const { clock, running } = scene(0, ["a"]);
  await running;
  expect(clock.pending).toBe(0);
});

test.each([[["a", "b"]], [[]]])(
  "an aborted resync of %j requeues no further key and leaves no timer",
  async (keys) => {
    const { clock, requeued, stop, running } = scene(4_000, keys);
    await clock.advance(2_500);
    const before = requeued.length;
    stop.abort();
    await running;
    await clock.advance(10_000);
    expect(requeued.length).toEqual(before);
    expect(clock.pending).toBe(0);
  },
);
