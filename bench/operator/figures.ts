/** Labels and values of the rows of a table, and further results for the JSON file. */
export interface Figures {
  readonly figures: readonly (readonly [label: string, value: string])[];
  readonly [result: string]: unknown;
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

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
