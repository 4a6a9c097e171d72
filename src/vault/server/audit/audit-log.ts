import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { open, realpath, rm } from "node:fs/promises";
import { type Clock, yieldToEventLoop } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { errors } from "../errors.ts";
import { AuditFile, lockFile, rotatedSegments } from "./audit-file.ts";
import {
  NO_HASH,
  sealLine,
  type AuditFields,
  type AuditLine,
  type ChainHead,
  type SignLine,
} from "./audit-line.ts";
import { DAY_MS, segmentsBeyond, type AuditRetention } from "./audit-retention.ts";
import { readTail } from "./read-lines.ts";
import { codeOf } from "../../../lib/errors.ts";

export const DEFAULT_AUDIT_FILE_BYTES = 256 * 1024 * 1024;
/**
 * Interval of write attempts while the log is not writable, in ms; requests in between are rejected
 * immediately.
 */
const RETRY_MS = 1000;
/** Maximum number of truncated bytes that their record quotes. */
const QUOTED_BYTES = 1024;

export interface AuditLogOptions {
  readonly file: string;
  /** Returns the MAC of a line; lines have none without it. */
  readonly sign?: SignLine;
  /** Size at which the file is rotated. */
  readonly maxBytes?: number;
  readonly retention?: AuditRetention;
  /** Maximum number of lines per write to the disk. */
  readonly linesPerSync?: number;
  /**
   * Called when a write failed; it is tried once more when this returns true, because there is
   * space now.
   */
  readonly makeRoom?: () => Promise<boolean>;
  /** Called with the lines of a write when they are on the disk; must not throw. */
  readonly onWritten?: (lines: Buffer) => void;
  /** Called when the file becomes writable or no longer is. */
  readonly onChange?: (writable: boolean) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Entry {
  readonly time: string;
  /** Fields of the line; `undefined` only checks that the log is writable. */
  readonly fields: AuditFields | undefined;
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

/** Returns the lines of one write, the same when it is called again. */
type TakeBatch = () => readonly Pick<Entry, "time" | "fields">[];

interface Failure {
  readonly reason: string;
  /** Time of the next attempt on the monotonic clock, in milliseconds. */
  retryAt: number;
  refused: number;
}

/** Returns the fields that record truncated bytes. */
function truncationRecord(torn: Uint8Array): AuditFields {
  if (torn.length === 0) return {};
  const text = Buffer.from(torn.subarray(0, QUOTED_BYTES)).toString("utf8");
  return {
    cut: { bytes: torn.length, sha256: createHash("sha256").update(torn).digest("hex"), text },
  };
}

async function lastOfNewestSegment(file: string): Promise<AuditLine | undefined> {
  const newest = (await rotatedSegments(file)).at(-1);
  if (newest === undefined) return undefined;
  await using handle = await open(newest);
  const { last } = await readTail(handle, (await handle.stat()).size);
  if (!last)
    throw new Error(`the audit log cannot continue after ${newest}: its last line is damaged`);
  return last;
}

/**
 * An append-only, hash-chained file of lines (docs/design/security.md#audit-log). Lines that arrive
 * during a write share the next write, in order of arrival. While the file is not writable, every
 * `append` is rejected and writing is retried once a second.
 */
export class AuditLog implements AsyncDisposable {
  readonly #file: AuditFile;
  readonly #maxBytes: number;
  readonly #linesPerSync: number;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #retention: AuditRetention;
  readonly #makeRoom: () => Promise<boolean>;
  readonly #onChange: ((writable: boolean) => void) | undefined;
  readonly #onWritten: ((lines: Buffer) => void) | undefined;
  /** Time of the first line of the file. */
  #since = Infinity;
  #rotations = 0;
  readonly #resources = new AsyncDisposableStack();
  #head: ChainHead = { log: randomBytes(8).toString("hex"), seq: 0, hash: NO_HASH };
  #found: AuditLine | undefined;
  #sign: SignLine | undefined;
  #queue: Entry[] = [];
  #running: Promise<void> | undefined;
  #failure: Failure | undefined;

  private constructor(path: string, options: AuditLogOptions) {
    this.#maxBytes = options.maxBytes ?? DEFAULT_AUDIT_FILE_BYTES;
    this.#linesPerSync = options.linesPerSync ?? 1000;
    this.#retention = options.retention ?? {};
    this.#makeRoom = options.makeRoom ?? (async () => false);
    this.#onChange = options.onChange;
    this.#sign = options.sign;
    this.#onWritten = options.onWritten;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#resources.use(lockFile(path));
    this.#file = this.#resources.use(new AuditFile(path));
  }

  /**
   * Continues the chain of the file, or starts one.
   * @throws Error when the file cannot be written, is locked by another process, or is not an audit
   * log
   */
  static async open(options: AuditLogOptions): Promise<AuditLog> {
    const path = existsSync(options.file) ? await realpath(options.file) : options.file;
    const log = new AuditLog(path, options);
    try {
      await log.#start();
      return log;
    } catch (error) {
      await log.#resources.disposeAsync();
      throw error;
    }
  }

  async #start(): Promise<void> {
    const { last, torn } = await this.#file.open();
    this.#since = (await this.#file.first())?.at ?? Infinity;
    const known = last ?? (await lastOfNewestSegment(this.#file.path));
    this.#found = known;
    this.#head = known ? { log: known.log, seq: known.seq, hash: known.hash } : this.#head;
    const started = {
      time: this.#time(),
      fields: { event: known ? "started" : "opened", ...truncationRecord(torn) },
    };
    await this.#storeOrMakeRoom(() => [started]);
  }

  #time(): string {
    return new Date(this.#clock.now()).toISOString();
  }

  /** Signs the lines that follow, under another master key. */
  signWith(sign: SignLine): void {
    this.#sign = sign;
  }

  /** Last line when the file was opened; `undefined` for a new chain. */
  get found(): AuditLine | undefined {
    return this.#found;
  }

  /** Last line that is on the disk. */
  get head(): ChainHead {
    return this.#head;
  }

  /** Number of segments that were closed since the start. */
  get rotations(): number {
    return this.#rotations;
  }

  get writable(): boolean {
    return this.#failure === undefined;
  }

  /**
   * Resolves when the line is on the disk. @throws ServiceError `unavailable` when it cannot be
   * written
   */
  append(fields: AuditFields): Promise<void> {
    return this.#enter(fields);
  }

  /** Requires that the log is writable. @throws ServiceError `unavailable` */
  async check(): Promise<void> {
    if (this.#failure) await this.#enter(undefined);
  }

  #enter(fields: AuditFields | undefined): Promise<void> {
    if (this.#failure && this.#clock.monotonic() < this.#failure.retryAt) {
      if (fields) this.#failure.refused += 1;
      return Promise.reject(errors.auditLogUnavailable());
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ time: this.#time(), fields, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      let batch: Entry[] | undefined;
      const take = (): Entry[] => (batch ??= this.#queue.splice(0, this.#linesPerSync));
      try {
        await this.#storeOrMakeRoom(take);
        for (const { resolve } of take()) resolve();
      } catch (error) {
        const refused = [...take(), ...this.#queue.splice(0)];
        this.#fail(error, refused.filter(({ fields }) => fields).length);
        for (const { reject } of refused) reject(errors.auditLogUnavailable());
      }
    }
    this.#running = undefined;
  }

  async #storeOrMakeRoom(take: TakeBatch): Promise<void> {
    try {
      await this.#store(take);
    } catch (error) {
      this.#fail(error, 0);
      if (!(await this.#makeRoom())) throw error;
      await this.#store(take);
    }
  }

  #fail(error: unknown, refused: number): void {
    if (!this.#failure) {
      this.#logger.error(
        { event: "audit_unavailable", error },
        "writing the audit log failed, rejecting requests",
      );
      this.#onChange?.(false);
    }
    const reason = codeOf(error) ?? "changed";
    this.#failure ??= { reason, retryAt: 0, refused: 0 };
    this.#failure.refused += refused;
    this.#failure.retryAt = this.#clock.monotonic() + RETRY_MS;
  }

  /** Writes one batch atomically: on failure the chain is unchanged. */
  async #store(take: TakeBatch): Promise<void> {
    const failure = this.#failure;
    const before = failure ? [await this.#recover(failure)] : [];
    // The lines of all requests that have arrived by now share this write.
    await yieldToEventLoop();
    this.#file.check();
    const batch = take();
    let sealed = this.#seal([...before, ...batch]);
    if (this.#isFull(sealed.bytes.length) && (await this.#rotate())) {
      sealed = this.#seal([
        { time: this.#time(), fields: { event: "continued" } },
        ...before,
        ...batch,
      ]);
    }
    if (sealed.bytes.length > 0) await this.#file.append(sealed.bytes);
    this.#head = sealed.head;
    if (sealed.bytes.length > 0) {
      this.#since = Math.min(this.#since, this.#clock.now());
      this.#onWritten?.(sealed.bytes);
    }
    if (!failure) return;
    this.#failure = undefined;
    this.#onChange?.(true);
    this.#logger.info({ event: "audit_available" }, "audit log writable again");
  }

  /**
   * Reports whether the file is to be rotated before it grows: because of its size or, when old
   * segments are removed, its age.
   */
  #isFull(more: number): boolean {
    if (this.#file.bytes === 0) return false;
    const tooOld = this.#retention.days !== undefined && this.#clock.now() - this.#since >= DAY_MS;
    return tooOld || this.#file.bytes + more > this.#maxBytes;
  }

  /**
   * Removes the oldest segments beyond the retention, after a line that says so. @throws
   * ServiceError `unavailable`
   */
  async removeOld(): Promise<void> {
    const old = await segmentsBeyond(this.#retention, this.#file, this.#clock.now());
    const last = old.at(-1)?.last;
    if (!last) return;
    await this.append({
      event: "removed",
      segments: old.length,
      last: last.seq,
      last_hash: last.hash,
    });
    for (const { path } of old) await rm(path);
    this.#logger.info(
      { event: "audit_removed", segments: old.length, last: last.seq },
      "removed old segments of the audit log",
    );
  }

  #seal(batch: readonly Pick<Entry, "time" | "fields">[]): { bytes: Buffer; head: ChainHead } {
    let head = this.#head;
    const lines = batch.flatMap(({ time, fields }) => {
      if (!fields) return [];
      const line = sealLine(head, time, fields, this.#sign);
      head = line.head;
      return [`${line.text}\n`];
    });
    return { bytes: Buffer.from(lines.join("")), head };
  }

  /** Opens the file again after a failure, and returns the record of it. */
  async #recover({ reason, refused }: Failure): Promise<Pick<Entry, "time" | "fields">> {
    const { torn } = await this.#file.open();
    return {
      time: this.#time(),
      fields: { event: "recovered", reason, refused, ...truncationRecord(torn) },
    };
  }

  async #rotate(): Promise<boolean> {
    const segment = `${this.#file.path}.${(await this.#file.first())?.seq}`;
    if (existsSync(segment)) {
      this.#logger.warn(
        { event: "audit_not_rotated" },
        "audit log not rotated: a file with the name of the segment exists",
      );
      return false;
    }
    await this.#file.rotate(segment);
    this.#since = Infinity;
    this.#rotations += 1;
    return true;
  }

  /** Appends a last line and closes the file. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.append({ event: "stopped" });
    } catch {
      // The failure is already logged.
    }
    await this.#running;
    await this.#resources.disposeAsync();
  }
}
