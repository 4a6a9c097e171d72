import * as fc from "fast-check";
import { expect, test } from "vitest";
import { promiseJobs, VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { Deadlines } from "./deadlines.ts";

function scene() {
  const clock = new VirtualClock(0, promiseJobs);
  const due: [string, number][] = [];
  const deadlines = new Deadlines(clock, (key) => void due.push([key, clock.monotonic()]));
  return { clock, due, deadlines };
}

test("a key is due once, at its last deadline, and has none afterwards", async () => {
  const { clock, due, deadlines } = scene();
  deadlines.set("a", 100);
  deadlines.set("a", 300);
  deadlines.set("b", 300);
  deadlines.set("b", 200);
  expect(deadlines.get("a")).toBe(300);
  expect(deadlines.get("b")).toBe(200);
  expect(deadlines.get("c")).toBeUndefined();
  await clock.advance(1_000);
  expect(due).toEqual([
    ["b", 200],
    ["a", 300],
  ]);
  expect(deadlines.get("a")).toBeUndefined();
  expect(deadlines.delete("a")).toBe(false);
  expect(clock.pending).toBe(0);
});

test("a deleted deadline leaves no timer, and the next one keeps its time", async () => {
  const { clock, due, deadlines } = scene();
  deadlines.set("a", 100);
  deadlines.set("b", 200);
  expect(deadlines.delete("a")).toBe(true);
  expect(clock.pending).toBe(1);
  expect(clock.nextIn).toBe(200);
  deadlines.delete("b");
  expect(clock.pending).toBe(0);
  await clock.advance(1_000);
  expect(due).toEqual([]);
});

test("a later deadline does not start another timer, and an earlier one replaces it", () => {
  const { clock, deadlines } = scene();
  let timers = 0;
  const timer = clock.timer.bind(clock);
  clock.timer = (ms, fire) => {
    timers += 1;
    return timer(ms, fire);
  };
  deadlines.set("a", 100);
  deadlines.set("b", 200);
  expect(timers).toBe(1);
  deadlines.set("c", 50);
  expect(timers).toBe(2);
  expect(clock.pending).toBe(1);
  expect(clock.nextIn).toBe(50);
});

test("after clear no key is due, and a new deadline works", async () => {
  const { clock, due, deadlines } = scene();
  deadlines.set("a", 100);
  deadlines.clear();
  expect(clock.pending).toBe(0);
  expect(deadlines.get("a")).toBeUndefined();
  deadlines.set("b", 200);
  await clock.advance(1_000);
  expect(due).toEqual([["b", 200]]);
});

test("a deadline set while another is due is not lost, and one in the past is due immediately", async () => {
  const clock = new VirtualClock(0, promiseJobs);
  const due: [string, number][] = [];
  const deadlines = new Deadlines(clock, (key) => {
    due.push([key, clock.monotonic()]);
    if (due.length === 1) deadlines.set("a", 150);
    if (due.length === 2) deadlines.set("b", 0);
  });
  deadlines.set("a", 100);
  await clock.advance(1_000);
  expect(due).toEqual([
    ["a", 100],
    ["a", 150],
    ["b", 150],
  ]);
});

/** Sets (at > 0) and deletions (at = 0) of 40 keys. */
const operations = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 39 }), fc.integer({ min: 0, max: 50 })),
  {
    minLength: 300,
    maxLength: 600,
  },
);

test("keys are due in the order of their deadlines, equal ones in the order of setting", async () => {
  await fc.assert(
    fc.asyncProperty(operations, async (all) => {
      const { clock, due, deadlines } = scene();
      const expected = new Map<string, number>();
      for (const [key, at] of all) {
        expected.delete(`${key}`);
        if (at === 0) deadlines.delete(`${key}`);
        else deadlines.set(`${key}`, at);
        if (at !== 0) expected.set(`${key}`, at);
      }
      expect(clock.nextIn).toBe(Math.min(...expected.values()));
      await clock.advance(50);
      expect(due).toEqual([...expected].sort(([, a], [, b]) => a - b));
      expect(clock.pending).toBe(0);
    }),
    { numRuns: 25, seed: 9, endOnFailure: true },
  );
});
