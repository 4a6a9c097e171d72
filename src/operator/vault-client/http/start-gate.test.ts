import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { failureOf } from "../../../../test/support/assertions/failure-of.ts";
import { StartGate } from "./start-gate.ts";

test("passes the requests of one connection immediately, and of many at most 40 in any second", async () => {
  const clock = new VirtualClock();
  const gate = new StartGate(clock);
  const at: number[] = [];
  const { signal } = new AbortController();
  const all = Array.from({ length: 200 }, () => gate.enter(signal).then(() => at.push(clock.monotonic())));
  await clock.advance(0);
  expect(at).toEqual([0, 0, 0, 0, 0]);
  await clock.advance(10_000);
  await Promise.all(all);
  expect(Math.max(...at.map((start) => at.filter((time) => time >= start && time <= start + 1_000).length))).toBe(39);
  await gate.enter(signal);
  expect(clock.monotonic()).toBe(10_000);
});

test("an aborted request rejects with the reason of its signal", async () => {
  const clock = new VirtualClock();
  const gate = new StartGate(clock);
  const abort = new AbortController();
  for (let passed = 0; passed < 5; passed += 1) await gate.enter(abort.signal);
  const failure = failureOf(gate.enter(abort.signal));
  abort.abort(new Error("aborted"));
  expect(await failure).toMatchObject({ message: "aborted" });
  expect(clock.pending).toBe(0);
});
