import type { Clock } from "../../../src/lib/clock.ts";

/** The sleeps that a signal ends: a set is faster than a listener for each of them. */
const sleeping = new WeakMap<AbortSignal, Set<() => void>>();

/** Implements `sleep` of a clock by its timers. */
export function sleepByTimer(
  clock: Pick<Clock, "timer">,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const sleeps = signal && sleepsOf(signal);
    const abort = (): void => {
      timer[Symbol.dispose]();
      reject(signal?.reason);
    };
    const timer = clock.timer(ms, () => {
      sleeps?.delete(abort);
      resolve();
    });
    sleeps?.add(abort);
  });
}

function sleepsOf(signal: AbortSignal): Set<() => void> {
  const known = sleeping.get(signal);
  if (known) return known;
  const sleeps = new Set<() => void>();
  sleeping.set(signal, sleeps);
  signal.addEventListener("abort", () => {
    for (const abort of sleeps) abort();
  });
  return sleeps;
}
