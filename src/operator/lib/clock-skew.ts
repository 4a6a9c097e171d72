/**
 * Difference of the clocks of operator and vault, in milliseconds, that changes no decision. The
 * vault removes an entry at its deadline by its own clock, and then returns held lists: by a
 * clock that is behind, the entry is gone before its deadline.
 */
export const CLOCK_SKEW_MS = 5_000;
