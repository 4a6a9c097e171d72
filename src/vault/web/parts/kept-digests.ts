import { isString, listOf } from "../service/shape.ts";

/** Returns a short digest (FNV-1a): the storage of the browser names no secret and no user. */
export function digestOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text)
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash.toString(36);
}

const isDigests = listOf(isString);

/** Returns the digests that this browser keeps under a name; `undefined` when it keeps none. */
export function keptDigests(name: string): ReadonlySet<string> | undefined {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(name) ?? "null");
    return isDigests(stored) ? new Set(stored) : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps digests under a name. */
export function keepDigests(name: string, digests: Iterable<string>): void {
  try {
    localStorage.setItem(name, JSON.stringify([...digests]));
  } catch {
    // Full, or forbidden by the user.
  }
}
