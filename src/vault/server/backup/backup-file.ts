import { createHash, timingSafeEqual } from "node:crypto";
import { open, type FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import type { MasterKey } from "../crypto/master-key.ts";
import { sqliteMigrations } from "../store/sqlite/sqlite-migrations.ts";
import type { Cell } from "../store/tables/raw-tables.ts";
import { backedUpTables, type TableShape } from "../store/tables/raw-tables.ts";
import {
  backupEnd,
  backupHead,
  authenticatingKey,
  digestOf,
  BACKUP_MAC,
  closing,
  CLOSING_BYTES,
  FORMAT_VERSION,
  OPENING_BYTES,
  rowOf,
  tableStart,
  type BackupEnd,
  type BackupHead,
} from "./format.ts";

const READ_BYTES = 1 << 20;

export interface BackupRow {
  readonly table: TableShape;
  readonly cells: Cell[];
}

export interface BackupSummary {
  readonly head: BackupHead;
  readonly end: BackupEnd;
}

async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let partial: Buffer[] = [];
  for await (const piece of bytes) {
    let from = 0;
    for (let end = piece.indexOf("\n"); end >= 0; end = piece.indexOf("\n", from)) {
      yield Buffer.concat([...partial, piece.subarray(from, end)]).toString("utf8");
      partial = [];
      from = end + 1;
    }
    partial.push(piece.subarray(from));
  }
}

/** @throws Error when this release cannot read the backup */
function checkHead(head: BackupHead): void {
  if (head.vaultsync_backup > FORMAT_VERSION || head.schema > sqliteMigrations.length) {
    throw new Error(
      "the backup was created by a newer release of vaultsync: restore it with that release",
    );
  }
}

/** @throws Error when the columns differ from the columns of this release */
function tableOf({ table, columns }: { table: string; columns: string[] }): TableShape {
  const known = backedUpTables.find(({ name }) => name === table);
  if (known?.columns.join() === columns.join()) return known;
  throw new Error(
    "the backup was created by another release of vaultsync: restore it with that release, then start this release on the data",
  );
}

/** Reads the rows of one table after another, and counts them. */
class RowReader {
  readonly #counts = new Map<string, number>();
  #table: TableShape | undefined;

  /** Begins a table. */
  start(table: TableShape): void {
    this.#table = table;
  }

  /** @throws Error when the row does not match the columns of its table */
  read(value: unknown[]): BackupRow {
    const table = this.#table;
    const cells = rowOf(value);
    if (cells.length !== table?.columns.length)
      throw new Error("invalid backup: a row does not match the columns of its table");
    this.#counts.set(table.name, (this.#counts.get(table.name) ?? 0) + 1);
    return { table, cells };
  }

  /** @throws Error when the end record counts other rows */
  check({ rows }: BackupEnd): void {
    for (const [name, count] of Object.entries(rows)) {
      if (count !== (this.#counts.get(name) ?? 0))
        throw new Error(`invalid backup: rows of ${name} are missing`);
    }
  }
}

interface OpenBackupOptions {
  /**
   * Returns a master key by its id, or undefined without any; throws when it is not among the known
   * ones.
   */
  readonly keyOf: (id: string) => MasterKey | undefined;
  /** Accepts a backup without a MAC, or with one that cannot be verified. */
  readonly unauthenticated?: boolean;
}

/**
 * A readable backup. Opening it verifies its checksum and its MAC; reading it verifies them again.
 */
export class BackupFile implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #contentStart: number;
  readonly #contentEnd: number;
  readonly #size: number;
  readonly #key: MasterKey | undefined;
  readonly #plain: boolean;

  private constructor(file: FileHandle, size: number, keyId: string, key: MasterKey | undefined) {
    const kind = keyId === "" ? "plain" : "authenticated";
    this.#plain = keyId === "";
    this.#file = file;
    this.#size = size;
    this.#contentStart = OPENING_BYTES[kind];
    this.#contentEnd = size - CLOSING_BYTES[kind];
    this.#key = key;
  }

  /** @throws Error when it is not a backup, corrupted or truncated, or cannot be authenticated */
  static async open(
    path: string,
    { keyOf, unauthenticated = false }: OpenBackupOptions,
  ): Promise<BackupFile> {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      const first = await file.read(
        Buffer.alloc(OPENING_BYTES.authenticated),
        0,
        OPENING_BYTES.authenticated,
        0,
      );
      const keyId = authenticatingKey(first.buffer.subarray(0, first.bytesRead));
      if (keyId === undefined) throw new Error("not a vaultsync backup");
      if (keyId === "" && !unauthenticated) {
        throw new Error(
          "the backup has no MAC, so that anyone may have changed it: add --unauthenticated to trust it all the same",
        );
      }
      const backup = new BackupFile(file, size, keyId, unauthenticated ? undefined : keyOf(keyId));
      await backup.#checkBytes();
      return backup;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async #bytes(start: number, end: number): Promise<Buffer> {
    const { buffer, bytesRead } = await this.#file.read(
      Buffer.alloc(end - start),
      0,
      end - start,
      start,
    );
    return buffer.subarray(0, bytesRead);
  }

  /** Yields the bytes from `start` to the end of the content. */
  async *#from(start: number): AsyncGenerator<Buffer> {
    for (let at = start; at < this.#contentEnd;) {
      const bytes = await this.#bytes(at, Math.min(at + READ_BYTES, this.#contentEnd));
      if (bytes.length === 0) throw new Error("the backup was truncated while it was read");
      yield bytes;
      at += bytes.length;
    }
  }

  async #checkBytes(): Promise<void> {
    const corrupted = new Error("the backup is corrupted or truncated: checksum mismatch");
    if (this.#contentEnd <= this.#contentStart) throw corrupted;
    const hash = createHash("sha256");
    const mac = this.#key?.mac(BACKUP_MAC);
    for await (const bytes of this.#from(0)) {
      hash.update(bytes);
      mac?.update(bytes);
    }
    const found = await this.#bytes(this.#contentEnd, this.#size);
    const expected = closing(hash.digest(), mac?.digest());
    const isSame = this.#plain
      ? found.equals(expected)
      : digestOf(found).equals(digestOf(expected));
    if (!isSame) throw corrupted;
    if (mac && !timingSafeEqual(found, expected)) {
      throw new Error(
        "the backup was changed after it was written: its MAC differs, restore another backup",
      );
    }
  }

  async *#lines(): AsyncGenerator<string> {
    const compressed = Readable.from(this.#from(this.#contentStart));
    const content = compressed.pipe(createZstdDecompress());
    compressed.once("error", (error) => content.destroy(error));
    try {
      yield* linesOf(content);
    } finally {
      compressed.destroy();
      content.destroy();
    }
  }

  /**
   * Reads all rows from the start.
   * @throws Error when it was created by another release or its rows do not match its end record
   */
  async read(
    row: (row: BackupRow, head: BackupHead) => Promise<void> | void,
  ): Promise<BackupSummary> {
    let head: BackupHead | undefined;
    let end: BackupEnd | undefined;
    const rows = new RowReader();
    for await (const line of this.#lines()) {
      const value: unknown = JSON.parse(line);
      if (!head) {
        head = backupHead.parse(value);
        checkHead(head);
      } else if (end) throw new Error("invalid backup: data after the end record");
      else if (Array.isArray(value)) await row(rows.read(value), head);
      else {
        const start = tableStart.safeParse(value);
        if (start.success) rows.start(tableOf(start.data));
        else end = backupEnd.parse(value);
      }
    }
    if (!head || !end) throw new Error("invalid backup: no end record");
    rows.check(end);
    // The file may have changed since it was opened.
    await this.#checkBytes();
    return { head, end };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file.close();
  }
}
