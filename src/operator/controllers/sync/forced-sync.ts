import { notReady } from "../../sync/ready-condition.ts";
import type { Report } from "../../sync/report.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import type { SyncStatus } from "../../sync/stored-status.ts";
import { isForced } from "../../sync/sync-status.ts";
import type { OpenConnection } from "../connection/connection-state.ts";
import { FRESH_LIST_MS, type FreshLists } from "../outcome/fresh-lists.ts";
import { waitFor, withListFailure } from "../outcome/outcome.ts";
import type { Started } from "./stages.ts";
import type { SyncResult } from "./sync-result.ts";

/**
 * Adds the echo of a forced sync to its report. A sync that has to be tried again is not ready,
 * although its target may be unchanged.
 */
export function withEcho(report: Report, resource: SyncResource, before: SyncStatus): Report {
  // A suspended resource is synced when it is resumed.
  if (!isForced(resource, before) || resource.suspend) return report;
  const { readyCondition, reconciling } = report;
  const failure = reconciling && notReady(reconciling.reason, reconciling.message);
  return { ...report, readyCondition: readyCondition ?? failure, forced: resource.forceSync };
}

/**
 * Syncs a resource, a forced one after a separate list. Until that list succeeds, even after the
 * echo, the resource is synced with the last list and is not ready.
 */
export async function syncForced(
  lists: FreshLists,
  { key, resource, before, source }: Started,
  access: OpenConnection,
  sync: () => Promise<SyncResult>,
): Promise<SyncResult> {
  const request = JSON.stringify([resource.uid, resource.forceSync]);
  const list = isForced(resource, before)
    ? lists.request(key, request, access.connection, [source.entries])
    : lists.failure(key, access.connection);
  if (list === "requested")
    return { report: undefined, next: waitFor("connection", FRESH_LIST_MS) };
  const result = await sync();
  const { report, next } = result;
  if (!(list instanceof Error) || report === undefined || report.readyCondition?.ready === false)
    return result;
  return {
    report: withListFailure(report, list, access.facts, resource.connection.kind),
    next: next.outcome === "done" && next.wait === undefined ? waitFor("connection") : next,
  };
}
