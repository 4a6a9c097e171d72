import { expect, test, vi } from "vitest";
import { systemClock } from "./clock.ts";

const LONGEST_NODE_TIMER_MS = 2 ** 31 - 1;

test("an aborted sleep rejects with the signal's reason, also when aborted before", async () => {
  const reason = new Error("the operator stops");
  const abort = new AbortController();
  const slept = systemClock.sleep(60_000, abort.signal);
  abort.abort(reason);
  await expect(slept).rejects.toBe(reason);
  await expect(systemClock.sleep(60_000, abort.signal)).rejects.toBe(reason);
});

test("a sleep of zero or negative milliseconds ends", async () => {
  await expect(systemClock.sleep(0)).resolves.toBeUndefined();
  await expect(systemClock.sleep(-5, new AbortController().signal)).resolves.toBeUndefined();
});

test("a timer longer than the maximum of Node fires once after its whole delay", () => {
  vi.useFakeTimers();
  try {
    const fire = vi.fn<() => void>();
    using timer = systemClock.timer(2 * LONGEST_NODE_TIMER_MS + 1_000, fire);
    vi.advanceTimersByTime(2 * LONGEST_NODE_TIMER_MS + 999);
    expect(fire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledOnce();
    timer[Symbol.dispose]();
  } finally {
    vi.useRealTimers();
  }
});

test("a disposed timer never fires, also in its second part, and can be disposed twice", () => {
  vi.useFakeTimers();
  try {
    const fire = vi.fn<() => void>();
    const timer = systemClock.timer(LONGEST_NODE_TIMER_MS + 1_000, fire);
    vi.advanceTimersByTime(LONGEST_NODE_TIMER_MS + 1);
    timer[Symbol.dispose]();
    timer[Symbol.dispose]();
    vi.advanceTimersByTime(5_000);
    expect(fire).not.toHaveBeenCalled();
  } finally {
    vi.useRealTimers();
  }
});

test("the monotonic clock never goes back", () => {
  const readings = Array.from({ length: 1_000 }, () => systemClock.monotonic());
  expect(readings).toEqual(readings.toSorted((a, b) => a - b));
});
