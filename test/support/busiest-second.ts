/** Returns the largest number of times within any window of a second, given ascending times in ms. */
export function busiestSecond(times: readonly number[]): number {
  let most = 0;
  let first = 0;
  times.forEach((time, index) => {
    while ((times[first] ?? time) <= time - 1_000) first += 1;
    most = Math.max(most, index - first + 1);
  });
  return most;
}
