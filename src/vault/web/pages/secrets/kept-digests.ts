import { isString, listOf } from "../../service/shape.ts";
import type { TeamRecord, SecretRecord } from "../../../../protocol/responses.ts";
import { secretId } from "./use-selection.ts";

/**
 * Returns a short digest (FNV-1a): the storage of the browser names no secret and no user. Others
 * can choose names with equal digests.
 */
function digestOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text)
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash.toString(36);
}

const isDigests = listOf(isString);

/** Returns the digests that this browser keeps under a name; `undefined` when it keeps none. */
function keptDigests(name: string): ReadonlySet<string> | undefined {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(name) ?? "null");
    return isDigests(stored) ? new Set(stored) : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps digests under a name. */
function keepDigests(name: string, digests: Iterable<string>): void {
  try {
    localStorage.setItem(name, JSON.stringify([...digests]));
  } catch {
    // Full, or forbidden by the user.
  }
}

/** Teams of other users with which this browser may share without a question. */
const TEAMS_PREFIX = "vaultsync-teams-";

const nameOf = (email: string): string => TEAMS_PREFIX + digestOf(email);

/** Returns a digest of a team that no other team has, in hexadecimal. */
async function teamOf({ group_id: name, creator }: TeamRecord): Promise<string> {
  const text = new TextEncoder().encode(`${creator} ${name}`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the teams that the user has accepted: none on a page without HTTPS. */
export async function acceptedTeams(
  email: string,
  teams: readonly TeamRecord[],
): Promise<ReadonlySet<TeamRecord>> {
  const kept = keptDigests(nameOf(email));
  if (!kept || !isSecureContext) return new Set();
  const digests = await Promise.all(teams.map(teamOf));
  return new Set(teams.filter((_, at) => kept.has(digests[at] ?? "")));
}

/** Keeps whether the user has accepted a team of another user. */
export async function acceptTeam(email: string, team: TeamRecord, accepts: boolean): Promise<void> {
  if (!isSecureContext) return;
  const digest = await teamOf(team);
  const accepted = new Set(keptDigests(nameOf(email)));
  if (accepts) accepted.add(digest);
  else accepted.delete(digest);
  keepDigests(nameOf(email), accepted);
}

/** Received secrets that are not looked at yet are new for this browser. */
const SEEN_PREFIX = "vaultsync-seen-";

/**
 * Returns the ids of the received secrets that this browser has not shown the page of. What the
 * user has received before the first visit is not new.
 */
export function newShares(email: string, secrets: readonly SecretRecord[]): ReadonlySet<string> {
  const ids = secrets.filter(({ owner }) => owner !== email).map(secretId);
  const name = SEEN_PREFIX + digestOf(email);
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
  const name = SEEN_PREFIX + digestOf(email);
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
