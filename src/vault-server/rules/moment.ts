import type { Moment } from "../../protocol/answers.ts";

const LATEST_DATE_MS = 8.64e15;

/** Milliseconds since the epoch as the contract prints a moment: a number where JavaScript's dates end. */
export function moment(ms: number): Moment {
  return ms <= LATEST_DATE_MS ? new Date(ms).toISOString() : ms;
}
