/**
 * The recent repairs of something that another writer changes. Times are monotonic, in
 * milliseconds.
 */
export interface RepairCount {
  readonly count: number;
  readonly lastAt: number;
}

/** Number of repairs within {@link WINDOW_MS} that are made immediately. */
export const IMMEDIATE = 2;
export const WINDOW_MS = 60_000;
/** Time without a repair after which an old fight no longer counts. */
const FORGET_MS = 600_000;
const FIRST_DELAY_MS = 5_000;
const MAX_DELAY_MS = 300_000;

/** Counts a repair. */
export function countRepair(before: RepairCount | undefined, now: number): RepairCount {
  const isRecent =
    before !== undefined &&
    now - before.lastAt < (before.count <= IMMEDIATE ? WINDOW_MS : FORGET_MS);
  return { count: (isRecent ? before.count : 0) + 1, lastAt: now };
}

/**
 * Returns the time in milliseconds until the next repair may be made: 0 for the first ones, then 5
 * s … 5 min.
 */
export function repairDelay(repairs: RepairCount | undefined, now: number): number {
  if (repairs === undefined || repairs.count < IMMEDIATE) return 0;
  const delay = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (repairs.count - IMMEDIATE));
  return Math.max(0, repairs.lastAt + delay - now);
}
