import type { SecretRecord } from "../../../../protocol/responses.ts";
import { digestOf, keepDigests, keptDigests } from "../../parts/kept-digests.ts";
import { secretId } from "./use-selection.ts";

/** Received secrets that are not looked at yet are new for this browser. */
const PREFIX = "vaultsync-seen-";

/**
 * Returns the ids of the received secrets that this browser has not shown the page of. What the
 * user has received before the first visit is not new.
 */
export function newShares(email: string, secrets: readonly SecretRecord[]): ReadonlySet<string> {
  const ids = secrets.filter(({ owner }) => owner !== email).map(secretId);
  const name = PREFIX + digestOf(email);
  const seen = keptDigests(name);
  if (seen) return new Set(ids.filter((id) => !seen.has(digestOf(id))));
  keepDigests(name, ids.map(digestOf));
  return new Set();
}

/** Records that the user looks at received secrets. Forgets those that left the list. */
export function markSeen(
  email: string,
  shown: readonly SecretRecord[],
  secrets: readonly SecretRecord[],
): void {
  const name = PREFIX + digestOf(email);
  const seen = keptDigests(name);
  if (!seen) return;
  const digests = secrets
    .filter(({ owner }) => owner !== email)
    .map(secretId)
    .map(digestOf);
  const added = new Set(shown.map(secretId).map(digestOf));
  keepDigests(
    name,
    digests.filter((digest) => seen.has(digest) || added.has(digest)),
  );
}
