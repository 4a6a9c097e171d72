import { expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { ProcessClock } from "./replica.ts";

const WITHIN_MS = 90;

/**
 * Suspends a process for each of these times, with a time in between, and returns since when it has
 * not run for 90 ms.
 */
async function suspendedAt(
  ...times: readonly { readonly ms: number; readonly after: number }[]
): Promise<number | undefined> {
  const clock = new VirtualClock();
  const process = new ProcessClock(clock, () => undefined);
  await clock.advance(1_000);
  for (const { ms, after } of times) {
    process.suspend();
    await clock.advance(ms);
    process.resume();
    await clock.advance(after);
  }
  return process.suspendedAt(WITHIN_MS);
}

test("a process is up to date until it is suspended, and again some time after it was resumed", async () => {
  expect(await suspendedAt()).toBeUndefined();
  expect(await suspendedAt({ ms: 500, after: 89 })).toBe(1_000);
  expect(await suspendedAt({ ms: 500, after: 90 })).toBeUndefined();
});

test("suspensions without enough time in between count as one", async () => {
  expect(await suspendedAt({ ms: 500, after: 89 }, { ms: 500, after: 0 })).toBe(1_000);
  expect(await suspendedAt({ ms: 500, after: 90 }, { ms: 500, after: 0 })).toBe(1_590);
});
