import type { VirtualClock } from "./virtual-clock.ts";

/**
 * Advances a virtual clock in small steps, with real I/O between them, until the promise settles or
 * the condition is true. The real-time counterparts are `waitUntil` and `expect.poll`.
 */
export function pump<T>(clock: VirtualClock, until: Promise<T>, stepMs?: number): Promise<T>;
export function pump(clock: VirtualClock, until: () => boolean, stepMs?: number): Promise<void>;
export async function pump<T>(
  clock: VirtualClock,
  until: Promise<T> | (() => boolean),
  stepMs = 100,
): Promise<T | void> {
  if (typeof until === "function") {
    while (!until()) await step(clock, stepMs);
    return;
  }
  const state = { settled: false };
  const settle = (): void => void (state.settled = true);
  until.then(settle, settle);
  while (!state.settled) await step(clock, stepMs);
  return until;
}

async function step(clock: VirtualClock, ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2));
  await clock.advance(ms);
}
