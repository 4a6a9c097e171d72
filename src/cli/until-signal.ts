import { systemClock } from "../lib/clock.ts";

/** What is still under way after this long is cut off. */
const GRACE_MS = 15_000;

function giveUp(): never {
  process.exit(1);
}

/** Runs until SIGTERM or SIGINT, then stops what runs; a second signal, or the end of the grace time, ends the process at once. */
export async function untilSignal(running: AsyncDisposable): Promise<void> {
  await new Promise<void>((resolve) => {
    process.once("SIGTERM", () => resolve());
    process.once("SIGINT", () => resolve());
  });
  process.once("SIGTERM", giveUp);
  process.once("SIGINT", giveUp);
  using _grace = systemClock.timer(GRACE_MS, giveUp);
  await running[Symbol.asyncDispose]();
}
