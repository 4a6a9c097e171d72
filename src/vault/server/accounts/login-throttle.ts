import type { LoginFailures } from "../store/records.ts";

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 60_000;

/**
 * Returns the time in ms until which the logins of a subject are throttled: from the `threshold`-th
 * failure within the window, 1 s after the last failure, doubled by each further failure, up to 60
 * s (docs/design/vault-contract.md#passwords-and-throttling).
 */
export function throttledUntil(failures: LoginFailures, threshold: number): number {
  if (failures.count < threshold) return 0;
  return (
    failures.lastAt +
    Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(10, failures.count - threshold))
  );
}
