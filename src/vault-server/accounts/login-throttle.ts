import type { LoginFailures } from "../store/records.ts";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * Until when a subject's log-ins are refused: from the `threshold`-th failure within the window on, 1 s after the last one, then twice as
 * long after each further one, at most 60 s. Source: the vault contract, "Fine print".
 */
export function throttledUntil(failures: LoginFailures, threshold: number): number {
  if (failures.count < threshold) return 0;
  return failures.lastAt + Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(10, failures.count - threshold));
}
