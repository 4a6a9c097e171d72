/** The page's clock. Not the port of `src/lib`, which is made of parts of Node; tests drive it through the browser. */
export const browserClock = {
  /** Milliseconds since the epoch. */
  now: (): number => new Date().getTime(),
  /** Calls `fire` once after `ms`; answers how to call it off. */
  after(ms: number, fire: () => void): () => void {
    const timer = window.setTimeout(fire, ms);
    return () => window.clearTimeout(timer);
  },
};
