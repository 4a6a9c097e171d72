import type { Clock } from "../../lib/clock.ts";

const INTERVAL_MS = 1000;

/**
 * Returns a function that prints progress on standard error, at most once a second; work shorter
 * than a second prints nothing.
 */
export function progressLine(clock: Clock): (text: string) => void {
  let next = clock.monotonic() + INTERVAL_MS;
  return (text) => {
    const now = clock.monotonic();
    if (now < next) return;
    next = now + INTERVAL_MS;
    process.stderr.write(`${text}\n`);
  };
}
