import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";

/** The recent repairs of a target: writes that reverted a change of another writer. Times are monotonic, in milliseconds. */
export interface Repairs {
  readonly count: number;
  readonly lastAt: number;
  /** The condition while a repair waits. */
  readonly condition: ReadyCondition;
}

/** Number of repairs within {@link WINDOW_MS} that are made immediately. */
const IMMEDIATE = 2;
const WINDOW_MS = 60_000;
/** Time without a repair after which an old fight no longer counts. */
const FORGET_MS = 600_000;
const FIRST_DELAY_MS = 5_000;
const MAX_DELAY_MS = 300_000;

const contested = ({ target }: SyncResource): ReadyCondition =>
  notReady(
    "TargetContested",
    `another writer changes the ${target.kind} ${target.name} each time it is repaired: stop it, or choose another target.name`,
  );

const rejected = ({ target }: SyncResource): ReadyCondition =>
  notReady(
    "TargetRejected",
    `an admission webhook changed the ${target.kind} ${target.name} while it was written: exclude it from the webhook`,
  );

/** The repairs without the condition, which depends on what is repaired. */
export type RepairCount = Pick<Repairs, "count" | "lastAt">;

/** Counts a repair. */
export function countRepair(before: RepairCount | undefined, now: number): RepairCount {
  const isRecent = before !== undefined && now - before.lastAt < (before.count <= IMMEDIATE ? WINDOW_MS : FORGET_MS);
  return { count: (isRecent ? before.count : 0) + 1, lastAt: now };
}

/** Counts a repair of a target. One that admission changed is followed by a delay also if it is the first. */
export function afterRepair(resource: SyncResource, before: Repairs | undefined, now: number, accepted: boolean): Repairs {
  const { count } = countRepair(before, now);
  if (!accepted) return { count: Math.max(count, IMMEDIATE), lastAt: now, condition: rejected(resource) };
  return { count, lastAt: now, condition: contested(resource) };
}

/** Returns the time in milliseconds until the next repair may be made: 0 for the first ones, then 5 s … 5 min. */
export function repairDelay(repairs: RepairCount | undefined, now: number): number {
  if (repairs === undefined || repairs.count < IMMEDIATE) return 0;
  const delay = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (repairs.count - IMMEDIATE));
  return Math.max(0, repairs.lastAt + delay - now);
}

/**
 * Returns the time in milliseconds until a contested target counts as calm, if nothing changes it again; 0 if it is not contested:
 * an impatient user may cause the first repairs.
 */
export function calmDelay(repairs: Repairs | undefined, now: number): number {
  return repairs !== undefined && repairs.count > IMMEDIATE ? Math.min(WINDOW_MS, repairDelay(repairs, now)) : 0;
}
