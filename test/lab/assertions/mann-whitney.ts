/**
 * Returns the Mann–Whitney U statistic of two samples as a standard normal deviate, with mid-ranks
 * and correction for ties. The approximation needs 20 values per sample. 0 means that neither tends
 * to be larger; values beyond ±4.2 occur in 1 of 37,000 pairs of samples of one distribution.
 */
export function mannWhitneyZ(one: readonly number[], other: readonly number[]): number {
  const all = [
    ...one.map((value) => ({ value, isFirst: true })),
    ...other.map((value) => ({ value, isFirst: false })),
  ];
  all.sort((a, b) => a.value - b.value);
  let rankSum = 0;
  let ties = 0;
  for (let start = 0, end = 0; start < all.length; start = end) {
    while (end < all.length && all[end]!.value === all[start]!.value) end += 1;
    const count = end - start;
    rankSum +=
      all.slice(start, end).filter(({ isFirst }) => isFirst).length * ((start + 1 + end) / 2);
    ties += count ** 3 - count;
  }
  const [n, m, total] = [one.length, other.length, all.length];
  const u = rankSum - (n * (n + 1)) / 2;
  const variance = ((n * m) / 12) * (total + 1 - ties / (total * (total - 1)));
  return variance === 0 ? 0 : (u - (n * m) / 2) / Math.sqrt(variance);
}
