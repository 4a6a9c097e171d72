/** Returns a function that returns another name each time: `secret-1`, `secret-2`. */
export function nameSequence(prefix: string, suffix = ""): () => string {
  let count = 0;
  return () => `${prefix}-${(count += 1)}${suffix}`;
}
