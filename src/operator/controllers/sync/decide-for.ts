import { decide } from "../../sync/decide.ts";
import { reportOf } from "../../sync/report.ts";
import { withFormerKeys } from "./former-keys.ts";
import { withReported } from "./reported-versions.ts";
import { bytesOf, resolveItems } from "./resolve-items.ts";
import { deadlinesOf } from "./resource-memory.ts";
import type { Observed, Planned } from "./stages.ts";
import type { SyncResult } from "./sync-result.ts";
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
 * Returns the result of a reconcile that was denied to read the target: what it found of the list
 * counts, and of the target what was reported last. @throws any other error
 */
export function withoutRead(error: unknown, seen: Observed): SyncResult {
  const { report, resolutions } = decideFor({ ...seen, state: withReported(seen) });
  seen.memory.deadlines = deadlinesOf(seen.access.id, resolutions);
  return deniedResult(error, seen.resource, report);
}
