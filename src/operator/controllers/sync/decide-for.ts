import { decide } from "../../sync/decide.ts";
import { type Report, reportOf } from "../../sync/report.ts";
import { withFormerKeys } from "./former-keys.ts";
import { withReported } from "./reported-versions.ts";
import { bytesOf, resolveItems } from "./resolve-items.ts";
import { deadlinesOf } from "./resource-memory.ts";
import type { Observed, Planned } from "./stages.ts";
import type { SyncResult } from "./sync-result.ts";
import type { TargetRecords } from "./target-records.ts";
import { deniedResult } from "./write-failure.ts";

/** Returns the decision for what was observed, and its report if it changes nothing. */
export function decideFor(observed: Observed): Omit<Planned, "current"> {
  const { access, resource, state } = observed;
  const resolutions = resolveItems(observed);
  const withFormer = withFormerKeys(observed, resolutions);
  if (withFormer !== undefined) return decideFor({ ...observed, resource: withFormer });
  const decision = decide(resource, resolutions, state);
  const bytes = bytesOf(observed, resolutions);
  const facts = { resolutions, connection: access.id, stale: access.stale, ...bytes };
  return { ...observed, resolutions, decision, report: reportOf(decision.readyCondition, facts) };
}

/**
 * Returns the report of a reconcile that does not read the target, although it may have been
 * edited: what it found of the list counts, and of the target what was reported last.
 */
export function reportUnread(seen: Observed): Report {
  const { report, resolutions } = decideFor({ ...seen, state: withReported(seen) });
  seen.memory.deadlines = deadlinesOf(seen.access.id, resolutions);
  return report;
}

/** Returns the result of a reconcile that was denied to read the target. @throws any other error */
export const withoutRead = (error: unknown, seen: Observed): SyncResult =>
  deniedResult(error, seen.resource, reportUnread(seen));

/**
 * Returns the decision for a target whose content may be unknown. Nothing is read for a plan that
 * changes nothing.
 */
export function decideBeforeRead(
  seen: Observed,
  targets: Pick<TargetRecords, "isVerified">,
): Omit<Planned, "current"> {
  const planned = decideFor(seen);
  const { resource, state } = seen;
  const isUnread = state.state === "owned" && !targets.isVerified(resource, state);
  return isUnread && planned.decision.plan.action === "keep"
    ? { ...planned, report: reportUnread(seen) }
    : planned;
}
