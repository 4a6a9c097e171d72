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
