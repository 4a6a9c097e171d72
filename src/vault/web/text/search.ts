/** Returns a text without case and accents: `e` for `É`. */
export function folded(text: string): string {
  const lower = text.toLowerCase();
  // Most texts have no accents, and a search folds ten thousand of them.
  if (!/[^\0-\x7F]/u.test(lower)) return lower;
  return lower.normalize("NFD").replaceAll(/[\u0300-\u036F]/gu, "");
}

/** Returns a function that reports whether folded texts contain every word of the search. */
export function searchFor(search: string): (texts: readonly string[]) => boolean {
  const words = folded(search).split(/\s+/u).filter(Boolean);
  return (texts) => words.every((word) => texts.some((text) => text.includes(word)));
}

/** Formats the non-empty members as the query of an address. */
export function queryOf(members: Readonly<Record<string, string>>): string {
  return new URLSearchParams(
    Object.entries(members).filter(([, value]) => value !== ""),
  ).toString();
}

/** Returns the page of a list in a query, starting at 0. Addresses count from 1. */
export function pageOf(query: URLSearchParams): number {
  const page = Number(query.get("page") ?? 1);
  return Number.isSafeInteger(page) && page > 0 ? page - 1 : 0;
}
