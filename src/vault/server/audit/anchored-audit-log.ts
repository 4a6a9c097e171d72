import { systemClock, type Clock } from "../../../lib/clock.ts";
import { silentLogger, type Logger } from "../../../lib/logger.ts";
import type { KeyRing } from "../crypto/key-ring.ts";
import type { Store } from "../store/store.ts";
import { boundedByVolume, volumeBytesOf, type AuditRetention } from "./audit-retention.ts";
import { isAuthentic, isRecorded, readAnchor, recordAnchor, type Anchor } from "./anchor.ts";
import { NO_HASH, lineSigner, lineState, type AuditLine, type SignLine } from "./audit-line.ts";
import { currentKey } from "../store/current-key.ts";
import type { ForwardTarget } from "./forward-target.ts";
import { AuditLog, DEFAULT_AUDIT_FILE_BYTES } from "./audit-log.ts";

/**
 * Records the current end of the log in the database, and signs later lines under the current
 * master key.
 */
export async function storeAnchor(store: Store, keys: KeyRing, log: AuditLog): Promise<void> {
  const { head } = log;
  log.signWith(await currentSigner(store, keys));
  if (await store.read((transaction) => isRecorded(keys, transaction, head))) return;
  await store.write((transaction) => recordAnchor(keys, transaction, head));
}

async function currentSigner(store: Store, keys: KeyRing): Promise<SignLine> {
  return lineSigner(await store.read((transaction) => currentKey(keys, transaction)));
}

/** The recorded end of a log, and whether a server with this master key has recorded it. */
interface RecordedEnd {
  readonly anchor: Anchor | undefined;
  readonly authentic: boolean;
}

/** The end of a log file, compared with the recorded one. */
type EndState =
  | { readonly state: "same" }
  | { readonly state: "unrecorded" }
  | { readonly state: "lost"; readonly authentic: boolean };

async function recordedEnd(store: Store, keys: KeyRing, log: string): Promise<RecordedEnd> {
  return store.read(async (transaction) => {
    const anchor = await readAnchor(transaction, log);
    const authentic = anchor !== undefined && (await isAuthentic(keys, transaction, anchor));
    return { anchor, authentic };
  });
}

function endState(keys: KeyRing, found: AuditLine, { anchor, authentic }: RecordedEnd): EndState {
  const state = lineState(keys, found);
  if (!anchor || !authentic) {
    const isRecordless = anchor === undefined || anchor.mac === "";
    return isRecordless && ["authentic", "plain"].includes(state)
      ? { state: "unrecorded" }
      : { state: "lost", authentic: false };
  }
  // At a recorded end, the line may have been signed under a former key, or have no MAC.
  if (anchor.seq === found.seq && anchor.hash === found.hash) return { state: "same" };
  // Lines without a MAC can replace all of the log, not only follow the recorded end.
  if (state !== "authentic") return { state: "lost", authentic: false };
  return anchor.seq < found.seq ? { state: "same" } : { state: "lost", authentic: true };
}

/**
 * Compares the end of the log with the recorded one. If lines were lost, or the recorded end or the
 * last line was forged, logs an error and appends a permanent record of it. If no server with this
 * master key has recorded an end, appends a record that `verify` shows.
 */
async function compareAnchor(
  store: Store,
  keys: KeyRing,
  log: AuditLog,
  logger: Logger,
): Promise<void> {
  const { found } = log;
  if (!found) return;
  const recorded = await recordedEnd(store, keys, found.log);
  const { anchor } = recorded;
  const end = endState(keys, found, recorded);
  if (end.state === "same") return;
  if (end.state === "unrecorded") {
    logger.warn(
      { event: "audit_unrecorded", found: found.seq },
      "the database does not know the audit log",
    );
    return log.append({ event: "unrecorded", found: found.seq });
  }
  const { authentic } = end;
  const ends = { known: anchor?.seq ?? 0, known_hash: anchor?.hash ?? NO_HASH, found: found.seq };
  logger.error(
    { event: "audit_lost", seq: ends.known, found: found.seq, authentic },
    "audit log lost lines",
  );
  await log.append({ event: "lost", ...ends, authentic });
}

export interface AuditLogFile {
  readonly file: string;
  readonly maxBytes?: number;
  /** Half of the volume by default. */
  readonly retention?: AuditRetention;
  /** Target of a copy of each line; none by default. */
  readonly forward?: ForwardTarget;
  readonly makeRoom?: () => Promise<boolean>;
  readonly onChange?: (writable: boolean) => void;
  readonly onWritten?: (lines: Buffer) => void;
}

/** Opens the log, compares its end with the recorded one, and records it again. */
export async function openAuditLog(
  {
    clock = systemClock,
    logger = silentLogger,
  }: { readonly clock?: Clock; readonly logger?: Logger },
  options: AuditLogFile,
  { store, keys }: { readonly store: Store; readonly keys: KeyRing },
): Promise<AuditLog> {
  const { maxBytes = DEFAULT_AUDIT_FILE_BYTES } = options;
  const bounded = boundedByVolume({ ...options, maxBytes }, await volumeBytesOf(options.file));
  const sign = await currentSigner(store, keys);
  const log = await AuditLog.open({ ...options, ...bounded, sign, clock, logger });
  try {
    await compareAnchor(store, keys, log, logger);
    await storeAnchor(store, keys, log);
    return log;
  } catch (error) {
    await log[Symbol.asyncDispose]();
    throw error;
  }
}

/** Closes the log and records its end in the database. */
export async function closeAuditLog(
  log: AuditLog,
  { store, keys }: { readonly store: Store; readonly keys: KeyRing },
): Promise<void> {
  await log[Symbol.asyncDispose]();
  await storeAnchor(store, keys, log);
}
