import { type Cron, lastTime, nextTime, parseCron } from "./cron.ts";
import { parseDuration } from "./duration.ts";

/** A time that comes again, in which changes are made. */
export interface TimeWindow {
  readonly schedule: Cron;
  readonly durationMs: number;
  /** Name of an IANA time zone. */
  readonly timeZone: string;
}

/** Maximum number of windows that are kept, because resources share what is computed of them. */
const MAX_KNOWN = 1_000;
const known = new Map<string, TimeWindow>();

/** Returns a window. Its schedule, duration and time zone are valid. */
export function timeWindow(schedule: string, duration: string, timeZone = "UTC"): TimeWindow {
  const id = JSON.stringify([schedule, duration, timeZone]);
  const found = known.get(id);
  if (found !== undefined) return found;
  if (known.size >= MAX_KNOWN) known.clear();
  const window = {
    schedule: parseCron(schedule),
    durationMs: parseDuration(duration),
    timeZone,
  };
  known.set(id, window);
  return window;
}

/** State of a window between two of its changes, in milliseconds since the epoch. */
interface Phase {
  readonly from: number;
  readonly to: number;
  readonly isOpen: boolean;
}

/** The phases that were computed last: the resources of one schedule share them. */
const phases = new WeakMap<TimeWindow, Phase>();

function phaseOf(window: TimeWindow, now: number): Phase {
  const last = phases.get(window);
  if (last !== undefined && last.from <= now && now < last.to) return last;
  const { schedule, durationMs, timeZone } = window;
  const opened = lastTime(schedule, timeZone, now, durationMs);
  const to = opened === undefined ? nextTime(schedule, timeZone, now) : opened + durationMs;
  const phase = { from: now, to, isOpen: opened !== undefined };
  phases.set(window, phase);
  return phase;
}

/**
 * Returns the time in milliseconds since the epoch at which the first of several windows opens;
 * `undefined` if one is open, or if there are none.
 */
export function nextOpening(windows: readonly TimeWindow[], now: number): number | undefined {
  const all = windows.map((window) => phaseOf(window, now));
  return all.length === 0 || all.some(({ isOpen }) => isOpen)
    ? undefined
    : Math.min(...all.map(({ to }) => to));
}

/** Returns windows; see {@link timeWindow}. */
export const timeWindows = (
  specs: readonly {
    readonly schedule: string;
    readonly duration: string;
    readonly timeZone?: string | undefined;
  }[],
): readonly TimeWindow[] =>
  specs.map(({ schedule, duration, timeZone }) => timeWindow(schedule, duration, timeZone));
