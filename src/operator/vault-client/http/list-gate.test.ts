import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { ListGate } from "./list-gate.ts";

test("passes the requests of one connection immediately, and of many at most 40 in any second", async () => {
  const clock = new VirtualClock();
  const gate = new ListGate(clock);
  const at: number[] = [];
  const { signal } = new AbortController();
  const all = Array.from({ length: 200 }, () =>
    gate.enter("later", signal).then(() => at.push(clock.monotonic())),
  );
  await clock.advance(0);
  expect(at).toEqual(Array.from({ length: 5 }, () => 0));
  await clock.advance(10_000);
  await Promise.all(all);
  expect(
    Math.max(
      ...at.map((start) => at.filter((time) => time >= start && time <= start + 1_000).length),
    ),
  ).toBeLessThanOrEqual(40);
  await gate.enter("later", signal);
  expect(clock.monotonic()).toBe(10_000);
});

test("requests of connections that were never listed pass before all others", async () => {
  const clock = new VirtualClock();
  const gate = new ListGate(clock);
  const { signal } = new AbortController();
  const passed: string[] = [];
  const enter = (turn: "first" | "later", id: string): void =>
    void gate.enter(turn, signal).then(() => passed.push(id));
  for (let taken = 0; taken < 5; taken += 1) await gate.enter("later", signal);
  enter("later", "a");
  enter("later", "b");
  enter("first", "c");
  enter("first", "d");
  await clock.advance(10_000);
  expect(passed).toEqual(["c", "d", "a", "b"]);
});

test("an aborted request rejects with the reason of its signal", async () => {
  const clock = new VirtualClock();
  const gate = new ListGate(clock);
  const abort = new AbortController();
  for (let passed = 0; passed < 5; passed += 1) await gate.enter("later", abort.signal);
  const failure = failureOf(gate.enter("later", abort.signal));
  abort.abort(new Error("aborted"));
  expect(await failure).toMatchObject({ message: "aborted" });
  expect(clock.pending).toBe(0);
});

test("intervals that require more requests than 40 per second raise the rate", async () => {
  const clock = new VirtualClock();
  const gate = new ListGate(clock);
  const handles = Array.from({ length: 1_000 }, () => gate.register(10_000));
  const { signal } = new AbortController();
  const passed = async (): Promise<number> => {
    const all = Promise.all(Array.from({ length: 1_000 }, () => gate.enter("later", signal)));
    const start = clock.monotonic();
    while (clock.pending > 0) await clock.advance(clock.nextIn ?? 0);
    await all;
    return Math.round((clock.monotonic() - start) / 1_000);
  };
  // 100 lists per second are regular; twice as many may pass.
  expect(await passed()).toBe(5);
  for (const handle of handles) handle[Symbol.dispose]();
  await clock.advance(60_000);
  expect(await passed()).toBe(28);
});
