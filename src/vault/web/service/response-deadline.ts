import { browserClock } from "./browser-clock.ts";

const slow = new Set<object>();
const listeners = new Set<() => void>();

function change(changed: boolean): void {
  if (changed) listeners.forEach((listener) => listener());
}

/**
 * The requests that the vault takes unusually long to respond to. The frame of the pages reports
 * them.
 */
export const slowRequests = {
  any: (): boolean => slow.size > 0,
  add(request: object): void {
    slow.add(request);
    change(true);
  },
  remove: (request: object): void => change(slow.delete(request)),
  /** Calls `listener` after each change. Returns a function that stops it. */
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};

/**
 * Time in ms without progress after which a request counts as slow, and after which it fails.
 */
const SLOW_MS = 5_000;
const SILENCE_MS = 30_000;

interface Deadline {
  /** Starts the time again, because bytes were sent or received. */
  readonly extend: () => void;
  readonly end: () => void;
}

/**
 * Starts the deadline of a request. It may take any time as long as it progresses; `onSilence` is
 * called after 30 seconds without progress.
 */
export function startDeadline(onSilence: () => void): Deadline {
  const request = {};
  let timers: readonly (() => void)[] = [];
  const end = (): void => {
    timers.forEach((cancel) => cancel());
    slowRequests.remove(request);
  };
  const extend = (): void => {
    end();
    timers = [
      browserClock.after(SLOW_MS, () => slowRequests.add(request)),
      browserClock.after(SILENCE_MS, onSilence),
    ];
  };
  extend();
  return { extend, end };
}
