/** The port for randomness: returns a number in [0, 1). */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

/**
 * Returns `value`, changed at random by up to ±`share` of itself: `jitter(random, 100, 0.1)` is
 * between 90 and 110.
 */
export function jitter(random: Random, value: number, share: number): number {
  return value * (1 + share * (2 * random() - 1));
}
