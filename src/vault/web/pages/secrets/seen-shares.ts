import { isString, listOf } from "../../service/shape.ts";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { secretId } from "./use-selection.ts";

/** Received secrets that are not looked at yet are new for this browser. */
const PREFIX = "vaultsync-seen-";

/** Returns a short digest (FNV-1a): the storage of the browser names no secret and no user. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text)
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash.toString(36);
}

const isDigests = listOf(isString);

function storedIn(name: string): ReadonlySet<string> | undefined {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(name) ?? "null");
    return isDigests(stored) ? new Set(stored) : undefined;
  } catch {
    return undefined;
  }
}

function store(name: string, digests: Iterable<string>): void {
  try {
    localStorage.setItem(name, JSON.stringify([...digests]));
  } catch {
    // Full, or forbidden by the user: then nothing is new.
  }
}

/**
 * Returns the ids of the received secrets that this browser has not shown the page of. What the
 * user has received before the first visit is not new.
 */
export function newShares(email: string, secrets: readonly SecretRecord[]): ReadonlySet<string> {
  const ids = secrets.filter(({ owner }) => owner !== email).map(secretId);
  const name = PREFIX + digestOf(email);
  const seen = storedIn(name);
  if (seen) return new Set(ids.filter((id) => !seen.has(digestOf(id))));
  store(name, ids.map(digestOf));
  return new Set();
}

/** Records that the user looks at received secrets. Forgets those that left the list. */
export function markSeen(
  email: string,
  shown: readonly SecretRecord[],
  secrets: readonly SecretRecord[],
): void {
  const name = PREFIX + digestOf(email);
  const seen = storedIn(name);
  if (!seen) return;
  const digests = secrets
    .filter(({ owner }) => owner !== email)
    .map(secretId)
    .map(digestOf);
  const added = new Set(shown.map(secretId).map(digestOf));
  store(
    name,
    digests.filter((digest) => seen.has(digest) || added.has(digest)),
  );
}
