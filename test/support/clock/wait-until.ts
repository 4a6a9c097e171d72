import { setTimeout as sleep } from "node:timers/promises";

/**
 * Asks again and again until the answer is truthy, and gives it. An error of `ask` counts as "not yet"; after `withinMs` it fails,
 * naming what was waited for and what was seen last.
 */
export async function waitUntil<T>(what: string, ask: () => T | Promise<T>, withinMs = 30_000): Promise<NonNullable<T>> {
  const end = performance.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) {
      const seen = last instanceof Error ? last.message : JSON.stringify(last);
      throw new Error(`not within ${withinMs} ms: ${what}; last seen: ${seen}`, { cause: last });
    }
    await sleep(100);
  }
}
