import type { Logger } from "../../../lib/logger.ts";
import { readyIn } from "../../api/conditions.ts";

/** States in which nothing is wrong although the resource is not ready, with their messages. */
const EXPECTED = new Map([
  ["Progressing", "resource is not ready yet"],
  ["Suspended", "resource is suspended"],
]);

/**
 * Logs that the condition Ready of a resource has another status or reason: a warning if something
 * is wrong now. That a new resource is ready is not logged, because the write of its target is.
 */
export function logReadyChange(
  logger: Logger,
  resource: object,
  before: unknown,
  now: unknown,
): void {
  const [earlier, ready] = [readyIn(before), readyIn(now)];
  if (ready === undefined || (earlier?.status === ready.status && earlier.reason === ready.reason))
    return;
  const { status, reason, message } = ready;
  const fields = { ...resource, ready: status, reason, message };
  if (status === "True") {
    if (earlier !== undefined) logger.info(fields, "resource is ready again");
    return;
  }
  const expected = EXPECTED.get(reason);
  if (expected === undefined) logger.warn(fields, "resource is not ready");
  else logger.info(fields, expected);
}
