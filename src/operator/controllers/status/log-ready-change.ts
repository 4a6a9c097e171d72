import type { Logger } from "../../../lib/logger.ts";
import { readyIn } from "../../api/conditions.ts";

/** States in which nothing is wrong although the resource is not ready. */
const EXPECTED = new Set(["Progressing", "Suspended"]);

/**
 * Logs that the condition Ready of a resource has another status or reason: a warning if something is wrong now. That a new resource is
 * ready is not logged, because the write of its target is.
 */
export function logReadyChange(logger: Logger, resource: object, before: unknown, now: unknown): void {
  const [earlier, ready] = [readyIn(before), readyIn(now)];
  if (ready === undefined || (earlier?.status === ready.status && earlier.reason === ready.reason)) return;
  const { status, reason, message } = ready;
  const fields = { ...resource, ready: status, reason, message };
  if (status === "True") {
    if (earlier !== undefined) logger.info(fields, "resource is ready again");
  } else if (EXPECTED.has(reason)) logger.info(fields, "resource is not ready yet");
  else logger.warn(fields, "resource is not ready");
}
