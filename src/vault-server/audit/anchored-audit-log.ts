import { systemClock, type Clock } from "../../lib/clock.ts";
import { silentLogger, type Logger } from "../../lib/logger.ts";
import type { Store } from "../store/store.ts";
import { boundedByVolume, volumeBytesOf, type AuditRetention } from "./audit-retention.ts";
import type { ChainHead } from "./audit-line.ts";
import { AuditLog, DEFAULT_AUDIT_FILE_BYTES } from "./audit-log.ts";

const KNOWN_LOGS = "audit_logs";

function settingOf(log: string): string {
  return `audit_log.${log}`;
}

/** Returns the last recorded end of a log. It is stored in the database, out of reach of a change to the file. */
export async function readAnchor(store: Store, log: string): Promise<ChainHead | undefined> {
  const [, seq, hash] =
    /^([0-9]+) ([0-9a-f]{64})$/u.exec((await store.read(({ settings }) => settings.get(settingOf(log)))) ?? "") ?? [];
  return seq === undefined || hash === undefined ? undefined : { log, seq: Number(seq), hash };
}

/** Returns the names of all logs that this store was served with. */
export async function knownLogs(store: Store): Promise<string[]> {
  const known = await store.read(({ settings }) => settings.get(KNOWN_LOGS));
  return known === undefined ? [] : known.split(" ");
}

/** Records the current end of the log in the database. */
export async function storeAnchor(store: Store, { head }: AuditLog): Promise<void> {
  const anchor = `${head.seq} ${head.hash}`;
  const known = await store.read(({ settings }) => settings.get(settingOf(head.log)));
  if (known === anchor) return;
  await store.write(async ({ settings }) => {
    await settings.set(settingOf(head.log), anchor);
    if (known !== undefined) return;
    const logs = await settings.get(KNOWN_LOGS);
    await settings.set(KNOWN_LOGS, logs === undefined ? head.log : `${logs} ${head.log}`);
  });
}

/**
 * Compares the end of the log with the recorded one. If lines were lost, logs an error and appends a permanent record of the
 * loss.
 */
async function compareAnchor(store: Store, log: AuditLog, logger: Logger): Promise<void> {
  const { found } = log;
  const anchor = found && (await readAnchor(store, found.log));
  if (!anchor || !found) return;
  if (anchor.seq < found.seq || (anchor.seq === found.seq && anchor.hash === found.hash)) return;
  logger.error({ event: "audit_lost", seq: anchor.seq, found: found.seq }, "audit log lost lines");
  await log.append({ event: "lost", known: anchor.seq, known_hash: anchor.hash, found: found.seq });
}

export interface AuditLogFile {
  readonly file: string;
  readonly maxBytes?: number;
  /** Half of the volume by default. */
  readonly retention?: AuditRetention;
  readonly makeRoom?: () => Promise<boolean>;
  readonly onChange?: (writable: boolean) => void;
}

/** Opens the log, compares its end with the recorded one, and records it again. */
export async function openAuditLog(
  { clock = systemClock, logger = silentLogger }: { readonly clock?: Clock; readonly logger?: Logger },
  options: AuditLogFile,
  store: Store,
): Promise<AuditLog> {
  const { maxBytes = DEFAULT_AUDIT_FILE_BYTES } = options;
  const bounded = boundedByVolume({ ...options, maxBytes }, await volumeBytesOf(options.file));
  const log = await AuditLog.open({ ...options, ...bounded, clock, logger });
  try {
    await compareAnchor(store, log, logger);
    await storeAnchor(store, log);
    return log;
  } catch (error) {
    await log[Symbol.asyncDispose]();
    throw error;
  }
}

/** Closes the log and records its end in the database. */
export async function closeAuditLog(log: AuditLog, store: Store): Promise<void> {
  await log[Symbol.asyncDispose]();
  await storeAnchor(store, log);
}
