import { followsLists } from "../../api/reasons.ts";
import type { Report } from "../../sync/report.ts";
import { deadlineOf, replacedBy, type Resolution } from "../../sync/resolution.ts";
import type { SyncItem } from "../../sync/sync-resource.ts";

/**
 * The deadlines of the sources of one resource, and the connection that listed them; a status lists
 * a limited number of items.
 */
export interface Deadlines {
  readonly connection: string;
  /**
   * Pairs of an item and its deadline, as JSON: a map would take 250 bytes for the one item that
   * most resources have.
   */
  readonly ofItems: string;
}

/**
 * The deadlines of a resource that did not follow the lists: a name that is gone now need not have
 * been removed at its deadline.
 */
const NO_DEADLINES: Deadlines = { connection: "", ofItems: "[]" };

/** Returns the deadlines to remember until the next reconcile. */
export function deadlinesOf(connection: string, resolutions: readonly Resolution[]): Deadlines {
  const replaced = resolutions.flatMap((one) => replacedBy(one) ?? []);
  const ofItems = [...resolutions, ...replaced].flatMap((resolution) => {
    const deleteAt = deadlineOf(resolution);
    return deleteAt === undefined ? [] : [[deadlineKey(resolution.item), deleteAt]];
  });
  return { connection, ofItems: JSON.stringify(ofItems) };
}

/** Identifies an item among the deadlines of a resource. */
export const deadlineKey = ({ id, source, owner = "" }: SyncItem): string =>
  `${id}\n${source}\n${owner}`;

/** Facts about one resource that are kept between two reconciles, in addition to its status. */
export interface Memory {
  readonly uid: string;
  deadlines: Deadlines | undefined;
  /** The status shows the items of this object. */
  hasOwnItems: boolean;
  /** The generation that has no target yet, and since when, in monotonic milliseconds. */
  firstTarget: { readonly generation: number; readonly since: number } | undefined;
  /** Effects of an earlier reconcile that no status shows yet, because writing it failed. */
  unreported: Report | undefined;
}

/**
 * Returns the time in milliseconds for which this generation of a resource has had no target. `now`
 * is in monotonic milliseconds.
 */
export function withoutTargetMs(memory: Memory, generation: number, now: number): number {
  if (memory.firstTarget?.generation !== generation)
    memory.firstTarget = { generation, since: now };
  return now - memory.firstTarget.since;
}

/**
 * Forgets the deadlines of a resource that followed no list: they may have changed by now. The
 * status shows the reason, and so a later process does not rely on them either.
 */
export function forgetUnfollowed(memory: Memory, report: Report | undefined): void {
  const reason = report?.resolutions === undefined ? report?.readyCondition?.reason : undefined;
  if (reason === undefined || followsLists(reason)) return;
  memory.deadlines = reason === "NamespaceNotAllowed" ? NO_DEADLINES : undefined;
}

/** The memory of all resources, by their keys in the queue. */
export class ResourceMemory {
  readonly #memory = new Map<string, Memory>();

  /**
   * Returns the memory of the object with this uid. A reconcile that outlives the object changes
   * only its own copy.
   */
  of(key: string, uid: string): Memory {
    const known = this.#memory.get(key);
    if (known?.uid === uid) return known;
    const memory: Memory = {
      uid,
      deadlines: undefined,
      hasOwnItems: false,
      firstTarget: undefined,
      unreported: undefined,
    };
    this.#memory.set(key, memory);
    return memory;
  }

  forget(key: string): void {
    this.#memory.delete(key);
  }
}
