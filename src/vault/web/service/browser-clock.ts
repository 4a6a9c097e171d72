/**
 * Clock of the page. The port in `src/lib/clock.ts` depends on Node; tests control this one through
 * the browser.
 */
export const browserClock = {
  /** Milliseconds since the epoch. */
  now: (): number => new Date().getTime(),
  /** Calls `fire` once after `ms` milliseconds. Returns a function that cancels it. */
  after(ms: number, fire: () => void): () => void {
    const timer = window.setTimeout(fire, ms);
    return () => window.clearTimeout(timer);
  },
};
