import type { ListProgress } from "../../vault-client/connection.ts";
import type { BlastLimit } from "./blast-limit.ts";
import type { Absence } from "./listed-names.ts";

/**
 * Number of lists in a row, and of intervals, for which a name must be absent before its keys are
 * removed.
 */
const PROOF_LISTS = 3;
const PROOF_INTERVALS = 2;

/**
 * Longest time in milliseconds that a proof waits for the lists of the vault's other connections: a
 * client that fails tries again every five minutes.
 */
const MAX_WAIT_MS = 600_000;

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
const provenFrom = ({ at }: Absence, intervalMs: number): number =>
  at + PROOF_INTERVALS * intervalMs;

/** Reports whether a list is the first one that proves an absence. */
export const isProof = (
  absence: Absence,
  { lists, at, previousAt }: ListProgress,
  intervalMs: number,
): boolean =>
  untilOwnProof(absence, { lists, at }, intervalMs) === 0 &&
  untilOwnProof(absence, { lists: lists - 1, at: previousAt }, intervalMs) > 0;

/**
 * Reports whether the other connections to the vault have shown what they lost at that time, or
 * cannot.
 */
export function isCounted(
  absence: Absence,
  progress: ListProgress,
  intervalMs: number,
  limit: Pick<BlastLimit, "isHeardSince">,
): boolean {
  const waitedMs = progress.at - provenFrom(absence, intervalMs);
  return waitedMs >= MAX_WAIT_MS || limit.isHeardSince(absence.at);
}

/** Reports whether the removal of a missing name is not proven yet: a hold would still prevent it. */
export const isPending = (
  absence: Absence,
  progress: ListProgress,
  intervalMs: number,
  limit: Pick<BlastLimit, "isHeardSince">,
): boolean =>
  untilOwnProof(absence, progress, intervalMs) > 0 ||
  !isCounted(absence, progress, intervalMs, limit);
