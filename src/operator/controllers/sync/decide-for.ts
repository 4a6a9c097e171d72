import { type Decision, decide } from "../../sync/decide.ts";
import { droppedFrom } from "../../sync/gone-claims.ts";
import { type Report, reportOf } from "../../sync/report.ts";
import type { Resolution } from "../../sync/resolution.ts";
import { withFormerKeys } from "./former-keys.ts";
import { withReported } from "./reported-versions.ts";
import { bytesOf, resolveItems } from "./resolve-items.ts";
import { deadlinesOf } from "./resource-memory.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import type { Observed, Planned } from "./stages.ts";
import type { SyncResult } from "./sync-result.ts";
import type { TargetRecords } from "./target-records.ts";
import { deniedResult } from "./write-failure.ts";

/** Returns the decision for what was observed, and its report if it changes nothing. */
export function decideFor(observed: Observed): Omit<Planned, "current"> {
  const { access, resource, state } = observed;
  const resolutions = resolveItems(observed);
  const withFormer = withFormerKeys(observed, resolutions);
  if (withFormer !== undefined) return decideWithFormer(observed, withFormer);
  const decision = withinLimit(observed, resolutions, decide(resource, resolutions, state));
  const bytes = bytesOf(observed, resolutions);
  const facts = { resolutions, connection: access.id, stale: access.stale, ...bytes };
  return { ...observed, resolutions, decision, report: reportOf(decision.readyCondition, facts) };
}

/** Returns the same with former keys. A target that is removed has no former keys any more. */
function decideWithFormer(observed: Observed, withFormer: SyncResource): Omit<Planned, "current"> {
  const decided = decideFor({ ...observed, resource: withFormer });
  if (decided.decision.plan.action !== "delete") return decided;
  const own = new Map(
    withFormer.items.map((item, n) => [item, observed.resource.items[n] ?? item]),
  );
  const resolutions = decided.report.resolutions?.map((one) => ({
    ...one,
    item: own.get(one.item) ?? one.item,
  }));
  return { ...decided, report: { ...decided.report, resolutions } };
}

/**
 * Returns the decision for a target whose rules find too many names: it is left unchanged, but for
 * what is gone.
 */
function withinLimit(
  { excess, state }: Observed,
  resolutions: readonly Resolution[],
  decision: Decision,
): Decision {
  if (excess === undefined || decision.plan.action === "delete") return decision;
  const plan =
    droppedFrom(resolutions, state).length > 0 ? decision.plan : ({ action: "keep" } as const);
  return { plan, readyCondition: excess };
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
