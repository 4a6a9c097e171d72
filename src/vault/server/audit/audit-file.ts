import { constants, type Stats, statSync } from "node:fs";
import { open, readdir, rename, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { AuditLine } from "./audit-line.ts";
import { readTail } from "./read-lines.ts";

/** With `O_DSYNC` a write returns when the bytes are on the disk. */
const OPEN_FLAGS =
  constants.O_RDWR |
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_NOFOLLOW |
  constants.O_DSYNC;
const OWNER_ONLY = 0o600;

/** State of the file when it was opened. */
export interface OpenedFile {
  /** Last complete line; `undefined` for an empty file. */
  readonly last: AuditLine | undefined;
  /** Truncated bytes after it. */
  readonly torn: Uint8Array;
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(dirname(path));
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function readFrom(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/**
 * File that lines are appended to. It tracks how many bytes are on the disk and detects that its
 * path was replaced.
 */
export class AuditFile implements AsyncDisposable {
  readonly path: string;
  #handle: FileHandle | undefined;
  #identity: Pick<Stats, "dev" | "ino"> | undefined;
  #bytes = 0;

  constructor(path: string) {
    this.path = path;
  }

  /** Number of bytes that are on the disk. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Opens or creates the file, and truncates what may not be on the disk: after the last complete
   * line or, when the same file is opened again, after the bytes appended so far.
   * @throws Error when it cannot be opened or is not an audit log
   */
  async open(): Promise<OpenedFile> {
    await this.#close();
    const handle = await open(this.path, OPEN_FLAGS, OWNER_ONLY);
    this.#handle = handle;
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error(`${this.path} is not a regular file`);
    const same =
      stats.ino === this.#identity?.ino &&
      stats.dev === this.#identity.dev &&
      stats.size >= this.#bytes;
    const { last, end, torn } = same
      ? {
          last: undefined,
          end: this.#bytes,
          torn: await readFrom(handle, this.#bytes, stats.size - this.#bytes),
        }
      : await readTail(handle, stats.size);
    if (
      !same &&
      !last &&
      torn.length > 0 &&
      !Buffer.from(torn).toString("latin1").startsWith('{"seq":'.slice(0, torn.length))
    ) {
      throw new Error(`${this.path} is not an audit log; choose another file`);
    }
    await handle.chmod(OWNER_ONLY);
    if (torn.length > 0) await handle.truncate(end);
    await handle.sync();
    if (stats.size === 0) await syncDirectory(this.path);
    this.#identity = stats;
    this.#bytes = end;
    return { last, torn };
  }

  /** @throws Error when the file at the path was replaced, or its length changed */
  check(): void {
    const stats = statSync(this.path);
    const same =
      stats.ino === this.#identity?.ino &&
      stats.dev === this.#identity.dev &&
      stats.size === this.#bytes;
    if (!same) throw new Error(`${this.path} was replaced or changed by another program`);
  }

  /**
   * Resolves when the bytes are on the disk; call `check` first. After a failure of either, call
   * `open` again.
   */
  async append(bytes: Uint8Array): Promise<void> {
    if (!this.#handle) throw new Error(`${this.path} is not open`);
    for (let written = 0; written < bytes.length;) {
      written += (await this.#handle.write(bytes, written)).bytesWritten;
    }
    this.#bytes += bytes.length;
  }

  /** Returns number and time of the first line. */
  async first(): Promise<{ readonly seq: number; readonly at: number } | undefined> {
    if (!this.#handle) return undefined;
    const start = (await readFrom(this.#handle, 0, 128)).toString("latin1");
    const [, seq, time] =
      /^\{"seq":([0-9]{1,15}),"log":"[^"]*","time":"([^"]*)"/u.exec(start) ?? [];
    return seq === undefined ? undefined : { seq: Number(seq), at: Date.parse(time ?? "") };
  }

  /** Renames the file and opens a new one in its place. */
  async rotate(segment: string): Promise<void> {
    this.check();
    await rename(this.path, segment);
    await this.open();
  }

  async #close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

/**
 * Locks a file for this process until disposed. The lock is SQLite's lock on an empty database next
 * to the file: the operating system releases it when the process ends, so it is never stale.
 * @throws Error when another process holds it
 */
export function lockFile(path: string): Disposable {
  const lock = new DatabaseSync(`${path}.lock`);
  try {
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    throw new Error(
      `the audit log ${path} is in use by another process, or its directory is not writable`,
      { cause: error },
    );
  }
  return { [Symbol.dispose]: () => lock.close() };
}

/** Returns the rotated segments of a log, the oldest first: `<file>.<seq of its first line>`. */
export async function rotatedSegments(file: string): Promise<string[]> {
  const prefix = `${basename(file)}.`;
  const names = await readdir(dirname(file));
  return names
    .filter((name) => name.startsWith(prefix) && /^[0-9]{1,15}$/u.test(name.slice(prefix.length)))
    .sort((a, b) => Number(a.slice(prefix.length)) - Number(b.slice(prefix.length)))
    .map((name) => join(dirname(file), name));
}
