import { expect, test } from "vitest";
import { promiseJobs, VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { QueueLimits } from "./queue-limits.ts";
import { RetryGate } from "./retry-gate.ts";

/** A gate and the keys that passed, with the time in milliseconds. */
function scene() {
  const clock = new VirtualClock(0, promiseJobs);
  const passed: [string, number][] = [];
  const gate = new RetryGate(
    clock,
    new QueueLimits(clock).retries,
    (key) => void passed.push([key, clock.monotonic()]),
  );
  const addMany = (group: string, count: number): void => {
    for (let n = 0; n < count; n += 1) gate.add(group, `${group}${n}`);
  };
  return { clock, passed, gate, addMany };
}

test("100 keys pass immediately, and every further one 100 ms after the one before", async () => {
  const { clock, passed, gate, addMany } = scene();
  addMany("a", 103);
  expect(passed.length).toBe(100);
  expect(gate.size).toBe(3);
  expect(clock.pending).toBe(1);
  await clock.advance(250);
  expect(passed.slice(100)).toEqual([
    ["a100", 100],
    ["a101", 200],
  ]);
  await clock.advance(50);
  expect(passed.length).toBe(103);
  expect(gate.size).toBe(0);
  expect(clock.pending).toBe(0);
});

test("a quiet time admits 10 more keys per second, and never more than 100", async () => {
  const { clock, passed, addMany } = scene();
  addMany("a", 100);
  await clock.advance(3_000);
  addMany("b", 40);
  expect(passed).toHaveLength(130);
  await clock.advance(3_600_000);
  expect(passed).toHaveLength(140);
  addMany("c", 150);
  expect(passed).toHaveLength(240);
});

test("groups take turns in front of the gate", async () => {
  const { clock, passed, gate, addMany } = scene();
  addMany("a", 103);
  gate.add("b", "b0");
  await clock.advance(400);
  expect(passed.slice(100).map(([key]) => key)).toEqual(["a100", "b0", "a101", "a102"]);
});

test("a key that is added again has its last place only", async () => {
  const { clock, passed, gate, addMany } = scene();
  addMany("a", 102);
  gate.add("a", "again");
  gate.add("b", "again");
  await clock.advance(1_000);
  expect(passed.slice(100).map(([key]) => key)).toEqual(["a100", "again", "a101"]);
  gate.add("a", "later");
  await clock.advance(1_000);
  expect(passed.slice(103).map(([key]) => key)).toEqual(["later"]);
});

test("a removed key does not pass, and the last one leaves no timer", async () => {
  const { clock, passed, gate, addMany } = scene();
  addMany("a", 102);
  expect(gate.remove("a100")).toBe(true);
  expect(gate.remove("a100")).toBe(false);
  expect(gate.remove("a0")).toBe(false);
  expect(gate.size).toBe(1);
  expect(clock.pending).toBe(1);
  await clock.advance(100);
  expect(passed.at(-1)).toEqual(["a101", 100]);
  addMany("b", 1);
  expect(gate.remove("b0")).toBe(true);
  expect(gate.size).toBe(0);
  expect(clock.pending).toBe(0);
});

test("a key that moves to another group passes once", async () => {
  const { clock, passed, gate, addMany } = scene();
  addMany("a", 101);
  gate.add("b", "a100");
  expect(gate.size).toBe(1);
  await clock.advance(10_000);
  expect(passed.filter(([key]) => key === "a100")).toHaveLength(1);
});

test("after clear no key passes, no timer is left, and the tokens used stay used", async () => {
  const { clock, passed, gate, addMany } = scene();
  addMany("a", 105);
  gate.clear();
  expect(gate.size).toBe(0);
  expect(clock.pending).toBe(0);
  await clock.advance(200);
  addMany("b", 3);
  await clock.advance(10_000);
  expect(passed.slice(100)).toEqual([
    ["b0", 200],
    ["b1", 200],
    ["b2", 300],
  ]);
});
