/**
 * Follows the name of a retired secret, and is followed by its id, so that another secret can have
 * the name. Names have no control characters.
 */
export const RETIRED_MARK = "\u001F";

/** Deadline of a retired secret, before all others. */
export const RETIRED_AT = -1;

/** Returns the name that a secret had before it was retired, which its values are sealed with. */
export function originalName(name: string): string {
  return name.split(RETIRED_MARK, 1).join("");
}
