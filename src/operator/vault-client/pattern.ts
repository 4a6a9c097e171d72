import { LinearRegExp, linearRegExp } from "../lib/linear-regexp.ts";

/** No name contains a line break. */
const MARK = "\n";

/**
 * Returns the reference to all entries whose name matches a regular expression; the empty one
 * matches every name. A reference to a single entry is its name.
 */
export const patternReference = (source: string): string => `${MARK}${source}`;

/** Reports whether a reference is a pattern, and not a name. */
export const isPattern = (reference: string): boolean => reference.startsWith(MARK);

/** Returns the references among these that are patterns. */
export const patternsIn = (references: Iterable<string>): readonly string[] =>
  [...references].filter(isPattern);

/** Reports whether a name matches a pattern. */
export function matchesPattern(pattern: string, name: string): boolean {
  const expression = linearRegExp(pattern.slice(MARK.length));
  return expression instanceof LinearRegExp && expression.test(name);
}
