import type { ConditionNow } from "../api/conditions.ts";
import { HOLD_ANNOTATION } from "../api/names.ts";
import type { Resolution } from "./resolve.ts";
import type { Hold, SyncResource } from "./sync-resource.ts";

/** Time before the expiry of a secret at which it is reported, in milliseconds. */
export const EXPIRY_NOTICE_MS = 24 * 3_600_000;

/** Returns a message about names, if there are any. */
function about(text: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
  return [`${text}: ${names.slice(0, 3).join(", ")}${more}`];
}

/** Returns the condition of a resource that is held. */
function heldCondition({ note, problem }: Hold): ConditionNow {
  const by = note === "" ? "" : ` (${note})`;
  const end = "until the annotation is removed";
  const message =
    problem === undefined
      ? `${HOLD_ANNOTATION} keeps the versions${by} ${end}`
      : `nothing newer is followed ${end} or corrected: ${problem}`;
  return { type: "Held", status: "True", reason: "Held", message };
}

/**
 * Returns the conditions about items with a newer version that is not followed, or not yet, and
 * about items that expire soon.
 */
export function itemConditions(
  { hold }: SyncResource,
  resolutions: readonly Resolution[],
  now: number,
): ConditionNow[] {
  const found = resolutions.filter((one) => one.state === "found");
  const newer = found.filter(({ candidate, version }) => candidate.latest > version);
  const pinned = newer.filter(({ item }) => item.version !== "latest");
  const held = newer.filter(({ gate }) => gate?.reason === "Held");
  const deferred = newer.filter(({ gate }) => gate?.reason === "RefreshInterval");
  const expiring = found.filter(
    ({ candidate: { expiresAt = Infinity } }) => expiresAt <= now + EXPIRY_NOTICE_MS,
  );
  const updates = (items: typeof found): string[] =>
    items.map(({ item, candidate, version }) => `${item.source} ${version} → ${candidate.latest}`);
  const available = [
    ...about("newer versions available for pinned items", updates(pinned)),
    ...about(
      "newer versions that are followed at the end of spec.refreshInterval",
      updates(deferred),
    ),
    ...about("newer versions that are held back", updates(held)),
  ];
  const sources = expiring.map(({ item }) => item.source);
  const heldNow = hold === undefined ? [] : [heldCondition(hold)];
  const expiringNow: ConditionNow[] = about("expired or expiring within 24 hours", sources).map(
    (message) => ({ type: "ExpiringSoon", status: "True", reason: "Expired", message }),
  );
  const conditions = [...heldNow, ...expiringNow];
  if (available.length === 0) return conditions;
  const message = available.join("; ");
  const reason = held.length > 0 ? "Held" : "Synced";
  return [{ type: "UpdateAvailable", status: "True", reason, message }, ...conditions];
}
