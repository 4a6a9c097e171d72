import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { Deadline } from "./deadline.ts";

test("a deadline aborts its signal and expires when the time has passed", async () => {
  const clock = new VirtualClock();
  using deadline = new Deadline(clock, 100, new AbortController().signal);
  await clock.advance(99);
  expect(deadline.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(deadline.signal.aborted).toBe(true);
  expect(deadline.expired).toBe(true);
});

test("a deadline aborts with its parent's reason and is then not expired", async () => {
  const clock = new VirtualClock();
  const parent = new AbortController();
  using deadline = new Deadline(clock, 100, parent.signal);
  const reason = new Error("stop");
  parent.abort(reason);
  await clock.advance(1_000);
  expect(deadline.signal.reason).toBe(reason);
  expect(deadline.expired).toBe(false);
  using late = new Deadline(clock, 100, parent.signal);
  expect(late.signal.reason).toBe(reason);
});

test("restart starts the time again", async () => {
  const clock = new VirtualClock();
  using deadline = new Deadline(clock, 100, new AbortController().signal);
  await clock.advance(99);
  deadline.restart(100);
  await clock.advance(99);
  expect(deadline.expired).toBe(false);
  await clock.advance(1);
  expect(deadline.expired).toBe(true);
});

test("a disposed deadline leaves no timer and no longer follows its parent", () => {
  const clock = new VirtualClock();
  const parent = new AbortController();
  const deadline = new Deadline(clock, 100, parent.signal);
  deadline[Symbol.dispose]();
  parent.abort();
  expect(clock.pending).toBe(0);
  expect(deadline.signal.aborted).toBe(false);
});
