import type { Clock } from "../lib/clock.ts";

const EVERY_MS = 1000;

/** Tells on standard error how far something is, once a second at most, so never for what is quickly done. */
export function progressLine(clock: Clock): (text: string) => void {
  let next = clock.monotonic() + EVERY_MS;
  return (text) => {
    const now = clock.monotonic();
    if (now < next) return;
    next = now + EVERY_MS;
    process.stderr.write(`${text}\n`);
  };
}
