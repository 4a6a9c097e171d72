import unhomoglyph from "unhomoglyph";

/** Returns Unicode's skeleton (https://www.unicode.org/reports/tr39/#Confusable_Detection). */
const skeleton = (name: string): string => unhomoglyph(name.normalize("NFD")).normalize("NFD");

/**
 * Returns two looks of a team's name, of which names that look alike or differ in case have at
 * least one in common. One look is not enough: `I` looks like `l` and `M` does not look like `rn`,
 * so the case is removed after the skeleton in the first, and before it in the second.
 * Stored: a change of the result needs a migration step that empties the columns.
 */
export function teamLooks(name: string): readonly [look: string, lowerLook: string] {
  return [skeleton(name).toLowerCase(), skeleton(name.toLowerCase()).toLowerCase()];
}
