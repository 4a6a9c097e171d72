import type { VirtualClock } from "./virtual-clock.ts";

/** Moves a virtual clock in small steps, with real I/O going on in between, until the promise settles. */
export async function pump<T>(clock: VirtualClock, promise: Promise<T>, stepMs = 100): Promise<T> {
  const state = { settled: false };
  const settle = (): void => void (state.settled = true);
  promise.then(settle, settle);
  while (!state.settled) await step(clock, stepMs);
  return promise;
}

/** As `pump`, until something is so. */
export async function pumpUntil(clock: VirtualClock, isSo: () => boolean, stepMs = 100): Promise<void> {
  while (!isSo()) await step(clock, stepMs);
}

async function step(clock: VirtualClock, ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2));
  await clock.advance(ms);
}
