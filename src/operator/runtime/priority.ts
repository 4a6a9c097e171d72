/** Why a key is looked at, most urgent first (design: engine, point 6). The order of this list is the order of work. */
export const PRIORITIES = ["spec", "drift", "vault", "background"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** The more urgent of two. */
export function moreUrgent(a: Priority, b: Priority): Priority {
  return PRIORITIES.indexOf(a) <= PRIORITIES.indexOf(b) ? a : b;
}
