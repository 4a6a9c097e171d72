import type { ListProgress } from "../../vault-client/connection.ts";
import type { Absence } from "./listed-names.ts";

/**
 * Number of lists in a row, and of intervals, for which a name must be absent before its keys are
 * removed.
 */
const PROOF_LISTS = 3;
const PROOF_INTERVALS = 2;

/**
 * Returns how much longer the lists of a connection must lack a name, in milliseconds from the
 * last list; 0 if they prove that it is deleted. One failed list is no evidence; several within a
 * second are none either.
 */
export function untilOwnProof(
  absence: Absence,
  { lists, at }: Pick<ListProgress, "lists" | "at">,
  intervalMs: number,
): number {
  const left = provenFrom(absence, intervalMs) - at;
  if (left > 0) return left;
  return lists - absence.list + 1 >= PROOF_LISTS ? 0 : intervalMs;
}

/** Returns the earliest monotonic time of a list that proves an absence. */
export const provenFrom = ({ at }: Absence, intervalMs: number): number =>
  at + PROOF_INTERVALS * intervalMs;

/** Reports whether a list is the first one that proves an absence. */
export const isProof = (
  absence: Absence,
  { lists, at, previousAt }: ListProgress,
  intervalMs: number,
): boolean =>
  untilOwnProof(absence, { lists, at }, intervalMs) === 0 &&
  untilOwnProof(absence, { lists: lists - 1, at: previousAt }, intervalMs) > 0;
