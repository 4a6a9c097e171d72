import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { Propagations } from "./propagations.ts";

const KEY = "VaultSecret/shop/db";

/** Returns the measurements at the monotonic time of 1 s, and their results. */
async function scene() {
  const clock = new VirtualClock();
  const measured: number[] = [];
  const propagations = new Propagations(clock, (ms) => void measured.push(ms));
  await clock.advance(1_000);
  return { clock, propagations, measured };
}

test("a change is measured once, from the first list that showed it to the write of the target", async () => {
  const { clock, propagations, measured } = await scene();
  propagations.changed(KEY, 400);
  propagations.changed(KEY, 900);
  await clock.advance(500);
  propagations.written(KEY);
  propagations.written(KEY);
  expect(measured).toEqual([1_100]);
});

test("a change that concerned nothing the target holds is not measured later", async () => {
  const { propagations, measured } = await scene();
  propagations.changed(KEY, 400);
  propagations.ended(KEY, propagations.current(KEY));
  propagations.written(KEY);
  expect(measured).toEqual([]);
});

test("a change that a list shows during the reconcile is measured by the next one", async () => {
  const { propagations, measured } = await scene();
  const before = propagations.current(KEY);
  propagations.changed(KEY, 900);
  propagations.ended(KEY, before);
  propagations.written(KEY);
  expect(measured).toEqual([100]);
});

test("a deleted resource is not measured", async () => {
  const { propagations, measured } = await scene();
  propagations.changed(KEY, 400);
  propagations.forget(KEY);
  propagations.written(KEY);
  expect(measured).toEqual([]);
});
