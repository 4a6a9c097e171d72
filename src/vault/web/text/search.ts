/** Returns a text without case and accents: `e` for `É`. */
export function folded(text: string): string {
  return text
    .toLowerCase()
    .normalize("NFD")
    .replaceAll(/[\u0300-\u036F]/gu, "");
}

/** Returns a function that reports whether a folded text contains every word of the search. */
export function searchFor(search: string): (text: string) => boolean {
  const words = folded(search).split(/\s+/u).filter(Boolean);
  return (text) => words.every((word) => text.includes(word));
}
