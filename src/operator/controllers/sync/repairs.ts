import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import {
  countRepair,
  IMMEDIATE,
  type RepairCount,
  repairDelay,
  WINDOW_MS,
} from "../outcome/repair-count.ts";

/** The recent repairs of a target: writes that reverted a change of another writer. */
export interface Repairs extends RepairCount {
  /** The condition while a repair waits. */
  readonly condition: ReadyCondition;
}

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

/**
 * Counts a repair of a target. If admission changed what was written, a delay follows even the
 * first repair.
 */
export function afterRepair(
  resource: SyncResource,
  before: Repairs | undefined,
  now: number,
  accepted: boolean,
): Repairs {
  const { count } = countRepair(before, now);
  if (!accepted)
    return { count: Math.max(count, IMMEDIATE), lastAt: now, condition: rejected(resource) };
  return { count, lastAt: now, condition: contested(resource) };
}

/**
 * Returns the time in milliseconds until a contested target counts as calm, if nothing changes it
 * again; 0 if it is not contested: an impatient user may cause the first repairs.
 */
export function calmDelay(repairs: Repairs | undefined, now: number): number {
  return repairs !== undefined && repairs.count > IMMEDIATE
    ? Math.min(WINDOW_MS, repairDelay(repairs, now))
    : 0;
}
