/**
 * Separates the name of a retired secret from its id: another secret can then have the name. Names
 * have no control characters.
 */
export const RETIRED_MARK = "\u001F";

/** Deadline of a retired secret, before all others. */
export const RETIRED_AT = -1;

/**
 * Returns the name that a secret had before it was retired: its values are sealed with that name.
 */
export function originalName(name: string): string {
  return name.split(RETIRED_MARK, 1).join("");
}
