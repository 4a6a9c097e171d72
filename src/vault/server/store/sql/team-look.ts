import unhomoglyph from "unhomoglyph";

/**
 * Returns what names of teams that look alike have in common: the skeleton of Unicode's table of
 * confusable characters (https://www.unicode.org/reports/tr39/#Confusable_Detection), without case.
 * Stored: a change of the result needs a migration step that empties the column.
 */
export function teamLook(name: string): string {
  return unhomoglyph(name.normalize("NFD")).normalize("NFD").toLowerCase();
}
