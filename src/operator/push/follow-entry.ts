import { isSameVersion, type VersionIdentity } from "./listed-entry.ts";

/** The latest version that a list showed of an entry, or `gone`: the last list lacks it. */
export type SeenEntry = VersionIdentity | "gone";

/**
 * Follows an entry that a resource created, while another writer may change it. Returns what the
 * lists have shown until now, or `replaced` if another writer has deleted the entry and created it.
 *
 * @param record the last push
 * @param seen the result of the list before; `undefined` if none has shown the last push
 */
export function followEntry(
  record: VersionIdentity,
  seen: SeenEntry | undefined,
  listed: VersionIdentity | undefined,
): SeenEntry | "replaced" | undefined {
  // A list that is older than the push may lack the entry.
  if (listed === undefined) return seen && "gone";
  if (isRecreated(record, listed)) return "replaced";
  if (listed.version < record.version) return seen;
  if (seen === "gone") return isSameVersion(record, listed) ? listed : "replaced";
  if (seen !== undefined && isRecreated(seen, listed)) return "replaced";
  return seen !== undefined && listed.version < seen.version ? seen : listed;
}

/** Reports whether a version cannot be of the same entry: an entry never has a number twice. */
function isRecreated(before: VersionIdentity, now: VersionIdentity): boolean {
  if (before.createdAt === undefined || now.createdAt === undefined) return false;
  if (before.version === now.version) return before.createdAt !== now.createdAt;
  return now.version < before.version && Date.parse(now.createdAt) > Date.parse(before.createdAt);
}
