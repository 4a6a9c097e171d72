import { stat, statfs, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { errors } from "../errors.ts";
import type { VaultMetrics } from "../metrics.ts";
import { randomFillSync } from "node:crypto";

const CHUNK_BYTES = 1024 * 1024;

/**
 * A file that holds disk space. Its removal, when the disk is full, leaves space to write
 * deletions.
 */
class ReserveFile {
  readonly #path: string;
  readonly #bytes: number;

  constructor(path: string, bytes: number) {
    this.#path = path;
    this.#bytes = bytes;
  }

  async exists(): Promise<boolean> {
    const found = await stat(this.#path).catch(() => undefined);
    return found?.size === this.#bytes;
  }

  /**
   * Writes random bytes: no file system stores them as a hole or compressed. Nothing is left after
   * an error.
   */
  async create(): Promise<void> {
    try {
      await using handle = await open(this.#path, "w", 0o600);
      for (let left = this.#bytes; left > 0; left -= CHUNK_BYTES) {
        await handle.writeFile(randomFillSync(Buffer.alloc(Math.min(left, CHUNK_BYTES))));
      }
      await handle.sync();
    } catch (error) {
      await this.remove();
      throw error;
    }
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}

const INTERVAL_MS = 5000;
/**
 * Twice the size at which SQLite moves its write-ahead log into the data file: the file may grow by
 * as much.
 */
const RESERVE_BYTES = 8 * 1024 * 1024;
/** A value is written to the write-ahead log and to the data file. */
const WRITES_PER_BYTE = 2;

export interface LowSpace {
  /** Space below which requests that add data are rejected. */
  readonly bytes: number;
  /**
   * Returns the bytes free for this process on the file system of a directory; by default, as the
   * operating system reports.
   */
  readonly freeBytes?: (directory: string) => Promise<number>;
}

export interface DiskSpaceOptions extends LowSpace {
  /** The data file; `undefined` when the data is in memory or on another server. */
  readonly data: string | undefined;
  readonly auditLog: string | undefined;
  /** Bytes within the data file that new rows reuse. */
  readonly reusableBytes: () => Promise<number>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<VaultMetrics, "freeBytes" | "lowSpace" | "lowSpaceBytes">;
}

/** A file system that the server writes to. */
interface Volume {
  readonly name: "data" | "audit_log";
  readonly directory: string;
  readonly reserve: ReserveFile;
  /** Bytes left until the space is low at the last sample, less what was let in since. */
  margin: number;
  low: boolean;
}

async function systemFreeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/**
 * Watches the file systems of the data file and the audit log. While one is low on space, the
 * server rejects requests that add data and can still write deletions and logins
 * (docs/vault-server.md#disk-space).
 */
export class DiskSpace implements AsyncDisposable {
  readonly #options: DiskSpaceOptions;
  #volumes: readonly Volume[] = [];
  #timer: Timer | undefined;
  #stopped = false;
  #lastTurn: Promise<unknown> = Promise.resolve();

  private constructor(options: DiskSpaceOptions) {
    this.#options = options;
  }

  /** Samples for the first time, and every five seconds until disposed. */
  static async start(options: DiskSpaceOptions): Promise<DiskSpace> {
    const space = new DiskSpace(options);
    space.#volumes = await space.#findVolumes();
    await space.#tick();
    return space;
  }

  async #findVolumes(): Promise<Volume[]> {
    const volumes = new Map<number, Volume>();
    const { data, auditLog } = this.#options;
    for (const [name, file] of [["data", data] as const, ["audit_log", auditLog] as const]) {
      if (file === undefined) continue;
      const directory = dirname(file);
      const { dev } = await stat(directory);
      const reserve = new ReserveFile(`${file}-reserve`, RESERVE_BYTES);
      if (!volumes.has(dev)) volumes.set(dev, { name, directory, reserve, margin: 0, low: false });
    }
    return [...volumes.values()];
  }

  async #tick(): Promise<void> {
    await this.#inTurn(() => this.#sample());
    if (!this.#stopped)
      this.#timer = this.#options.clock.timer(INTERVAL_MS, () => void this.#tick());
  }

  #inTurn<T>(job: () => Promise<T>): Promise<T | undefined> {
    const turn = this.#lastTurn.then(job).catch((error: unknown) => {
      this.#options.logger.error(
        { event: "space_unknown", error },
        "measuring the free disk space failed",
      );
      return undefined;
    });
    this.#lastTurn = turn;
    return turn;
  }

  #freeBytes({ directory }: Volume): Promise<number> {
    return (this.#options.freeBytes ?? systemFreeBytes)(directory);
  }

  async #sample(): Promise<void> {
    for (const volume of this.#volumes) {
      const free = await this.#freeBytes(volume);
      const reusable = volume.name === "data" ? await this.#options.reusableBytes() : 0;
      const missing = (await volume.reserve.exists()) ? 0 : RESERVE_BYTES;
      this.#report(volume, free, reusable, missing);
      this.#options.metrics.freeBytes.set({ volume: volume.name }, free);
      if (missing > 0 && !volume.low) await volume.reserve.create();
    }
  }

  /**
   * The audit log and the write-ahead log cannot reuse pages of the data file: some space must be
   * free outside of it.
   */
  #report(volume: Volume, free: number, reusable: number, missing: number): void {
    const { bytes, logger, metrics } = this.#options;
    volume.margin = Math.min(free + reusable - missing - bytes, free - missing - bytes / 4);
    const low = volume.margin < 0;
    metrics.lowSpace.set({ volume: volume.name }, low ? 1 : 0);
    metrics.lowSpaceBytes.set({ volume: volume.name }, bytes);
    if (low === volume.low) return;
    volume.low = low;
    const fields = {
      volume: volume.name,
      directory: volume.directory,
      free,
      reusable,
      lowSpace: bytes,
    };
    if (low)
      logger.warn(
        { event: "space_low", ...fields },
        "low disk space, rejecting requests that add data: free some",
      );
    else logger.info({ event: "space_available", ...fields }, "enough disk space again");
  }

  /** Reports whether a volume was low on space at the last sample. */
  get isLow(): boolean {
    return this.#volumes.some(({ low }) => low);
  }

  /** Requires space for a request that adds data. @throws ServiceError `unavailable` */
  async check(bytes: number): Promise<void> {
    const cost = bytes * WRITES_PER_BYTE;
    const fits = (): boolean => this.#volumes.every(({ margin }) => margin >= cost);
    if (!fits()) await this.#inTurn(() => this.#sample());
    if (!fits()) throw errors.lowSpace();
    for (const volume of this.#volumes) volume.margin -= cost;
  }

  /**
   * Releases a reserve on a full disk; call it after a failed write. Reports whether one was
   * released: then a retry helps.
   */
  async release(): Promise<boolean> {
    const released = await this.#inTurn(async () => {
      let any = false;
      for (const volume of this.#volumes) {
        if ((await this.#freeBytes(volume)) >= RESERVE_BYTES || !(await volume.reserve.exists()))
          continue;
        await volume.reserve.remove();
        this.#options.logger.warn(
          { event: "space_reserve_released", volume: volume.name },
          "disk full, released the reserve",
        );
        any = true;
      }
      return any;
    });
    // Separately: the reserve is released also if the data file cannot be read.
    await this.#inTurn(() => this.#sample());
    return released ?? false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
    await this.#lastTurn;
  }
}
