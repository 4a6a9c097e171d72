import type { ConditionNow } from "../api/conditions.ts";
import { HOLD_ANNOTATION } from "../api/names.ts";
import type { Expiry } from "./expiry.ts";
import type { Gate, Resolution } from "./resolution.ts";
import { type Hold, isFollowing, type SyncResource } from "./sync-resource.ts";
import { formatTimestamp } from "./timestamp.ts";
import { firstOf } from "../lib/first-of.ts";

/** Returns a message about names, if there are any. */
function about(text: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  return [`${text}: ${firstOf(names)}`];
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

type Pending = Extract<Resolution, { state: "found" | "withheld" }>;

/** Returns what a gate keeps away, from the version in the target if there is one: `db 1 → 2`. */
function updateText(one: Pending): string {
  const { item, candidate } = one;
  if (one.state === "withheld") return `${item.source} → ${candidate.latest}`;
  const recreated = one.isRecreated === true ? " (recreated)" : "";
  return `${item.source} ${one.version} → ${candidate.latest}${recreated}`;
}

/** Reports whether the target lacks the newest version of an item. */
const isPending = (one: Resolution): one is Pending =>
  one.state === "withheld" ||
  (one.state === "found" &&
    one.item.version !== "previous" &&
    (one.candidate.latest > one.version || one.isRecreated === true));

/** Says what newer versions wait for. */
const waitText: Readonly<Record<Gate["reason"], (until: string) => string>> = {
  Held: () => "newer versions that are held back",
  Frozen: (until) => `newer versions that wait for the end of a freeze ${until}`,
  AwaitingApproval: (until) => `newer versions that wait for an approval ${until}`,
  OutsideWindow: (until) => `newer versions that wait for the next window at ${until}`,
  RefreshInterval: () => "newer versions that are followed at the end of spec.refreshInterval",
};

/**
 * Returns the condition about items with a newer version that is not followed, or not yet. Those
 * that wait for a gate wait for the same one, except items that are held, or whose gate is the
 * refresh interval.
 */
function updateCondition(resolutions: readonly Resolution[]): ConditionNow[] {
  const pending = resolutions.filter(isPending);
  const pinned = pending.filter(({ item }) => !isFollowing(item));
  const byReason = Map.groupBy(
    pending.filter(({ gate }) => gate !== undefined),
    ({ gate }) => gate?.reason ?? "Held",
  );
  const waiting = [...byReason].flatMap(([reason, items]) =>
    about(waitText[reason](items[0]?.gate?.until ?? ""), items.map(updateText)),
  );
  const available = [
    ...about("newer versions available for pinned items", pinned.map(updateText)),
    ...waiting,
  ];
  if (available.length === 0) return [];
  const [first = "Synced"] = [...byReason.keys()].filter((one) => one !== "RefreshInterval");
  const reason = byReason.has("Held") ? "Held" : first;
  return [{ type: "UpdateAvailable", status: "True", reason, message: available.join("; ") }];
}

/**
 * Returns the conditions about items with a newer version that is not followed, or not yet, and
 * about items that expire soon.
 */
export function itemConditions(
  { hold }: SyncResource,
  resolutions: readonly Resolution[],
  expiries: readonly Expiry[],
  now: number,
): ConditionNow[] {
  const expiring = expiries.filter(({ noticeAt }) => noticeAt <= now);
  const names = expiring.map(({ name, to }) => `${name} at ${formatTimestamp(to) ?? "once"}`);
  const heldNow = hold === undefined ? [] : [heldCondition(hold)];
  const expiringNow: ConditionNow[] = about("expires soon, or has expired", names).map(
    (message) => ({ type: "ExpiringSoon", status: "True", reason: "Expired", message }),
  );
  return [...updateCondition(resolutions), ...heldNow, ...expiringNow];
}
