import { setTimeout as sleep } from "node:timers/promises";

/**
 * Polls `check` in real time until it returns a truthy value, and returns that value. An error of
 * `check` counts as "not yet". An assertion that has to become true is written with `expect.poll`
 * instead.
 * @param description the awaited condition, for the error message
 * @throws Error after `withinMs`, with the description and the last value or error
 */
export async function waitUntil<T>(
  description: string,
  check: () => T | Promise<T>,
  withinMs = 60_000,
  intervalMs = 100,
): Promise<NonNullable<T>> {
  const end = performance.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await check();
      if (value) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) {
      const seen = last instanceof Error ? last.message : JSON.stringify(last);
      throw new Error(
        `timed out after ${withinMs} ms waiting for: ${description}; last value: ${seen}`,
        { cause: last },
      );
    }
    await sleep(intervalMs);
  }
}
