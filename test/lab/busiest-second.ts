/**
 * Returns the largest number of times within any window of this duration, given ascending times in
 * ms.
 */
export function busiestWindow(times: readonly number[], windowMs: number): number {
  let most = 0;
  let first = 0;
  times.forEach((time, index) => {
    while ((times[first] ?? time) <= time - windowMs) first += 1;
    most = Math.max(most, index - first + 1);
  });
  return most;
}

/**
 * Returns the largest number of times within any window of a second, given ascending times in ms.
 */
export const busiestSecond = (times: readonly number[]): number => busiestWindow(times, 1_000);
