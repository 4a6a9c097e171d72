/**
 * Returns the first of some texts, and how many more there are: `a, b, c and 2 more`, or `a; b; c;
 * and 2 more`.
 */
export function firstOf(texts: readonly string[], max = 3, separator: ", " | "; " = ", "): string {
  const shown = texts.slice(0, max).join(separator);
  const more = texts.length - max;
  return more > 0 ? `${shown}${separator.trimEnd().replace(",", "")} and ${more} more` : shown;
}
