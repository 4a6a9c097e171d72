import { findCondition } from "../../api/conditions.ts";
import type { Decision } from "../../sync/decide.ts";
import type { Report } from "../../sync/report.ts";
import type { SyncStatus } from "../../sync/sync-status.ts";

/**
 * Reports whether the vault, for the first time, lacked an entry or version that its list shows.
 */
export function showsOutdatedList(
  { readyCondition }: Report,
  decision: Decision,
  before: SyncStatus,
): boolean {
  if (readyCondition === undefined || readyCondition === decision.readyCondition) return false;
  const isLacking =
    readyCondition.reason === "SourceMissing" || readyCondition.reason === "VersionNotFound";
  return isLacking && findCondition(before.conditions, "Ready")?.reason !== readyCondition.reason;
}
