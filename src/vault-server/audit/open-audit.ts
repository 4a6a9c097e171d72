import { systemClock, type Clock } from "../../lib/clock.ts";
import { silentLogger, type Logger } from "../../lib/logger.ts";
import type { Store } from "../store/store.ts";
import { checkAnchor, dropAnchor } from "./audit-anchor.ts";
import { AuditLog } from "./audit-log.ts";

export interface AuditFileOptions {
  readonly file: string;
  readonly maxBytes?: number;
}

/** Opens the log, compares it with what the database remembers of it, and makes that remember anew. */
export async function openAudit(
  { clock = systemClock, logger = silentLogger }: { readonly clock?: Clock; readonly logger?: Logger },
  options: AuditFileOptions,
  store: Store,
): Promise<AuditLog> {
  const log = await AuditLog.open({ ...options, clock, logger });
  try {
    await checkAnchor(store, log, logger);
    await dropAnchor(store, log);
    return log;
  } catch (error) {
    await log[Symbol.asyncDispose]();
    throw error;
  }
}

/** Ends the log; the database remembers the end. */
export async function closeAudit(log: AuditLog, store: Store): Promise<void> {
  await log[Symbol.asyncDispose]();
  await dropAnchor(store, log);
}
