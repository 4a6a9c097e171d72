/** Labels and values of the rows of a table, and further results for the JSON file. */
export interface Figures {
  readonly figures: readonly (readonly [label: string, value: string])[];
  readonly [result: string]: unknown;
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
