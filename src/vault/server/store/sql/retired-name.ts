/**
 * Separates the name of a retired secret, or of a secret or file in the trash, from its id: another
 * one can then have the name. Names have no control characters.
 */
export const RETIRED_MARK = "\u001F";

/** Deadline of a retired secret, and end of a retired file: before all others that are due. */
export const RETIRED_AT = -1;

/**
 * Deadline of a secret in the trash: every query that omits secrets past their deadline omits it.
 * It is not due, because the table of the trash has its end.
 */
export const TRASHED_AT = -2;

/** Condition on `s`: a secret that is neither retired nor in the trash. */
export const NOT_REMOVED = "s.delete_at >= 0";

/**
 * Returns the name that a secret or file had before it was retired or trashed: its values are sealed
 * with that name.
 */
export function originalName(name: string): string {
  return name.split(RETIRED_MARK, 1).join("");
}
