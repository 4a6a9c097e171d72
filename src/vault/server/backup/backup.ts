import { createHash, randomUUID } from "node:crypto";
import { link, open, rename, rm, type FileHandle } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress } from "node:zlib";
import type { Clock } from "../../../lib/clock.ts";
import type { MasterKey } from "../crypto/master-key.ts";
import { CURRENT_KEY } from "../store/current-key.ts";
import { sqliteMigrations } from "../store/sqlite/sqlite-migrations.ts";
import type { Store, Transaction } from "../store/store.ts";
import { backedUpTables, type TableShape } from "../store/tables/raw-tables.ts";
import {
  BACKUP_MAC,
  closing,
  FORMAT_VERSION,
  opening,
  rowLine,
  type BackupEnd,
  type BackupHead,
} from "./format.ts";
import type { BackupFile, BackupSummary } from "./backup-file.ts";

/** Rows in memory simultaneously: the largest, of secrets, have about 1 MiB. */
const PAGE_SIZE = 16;

export interface BackupOptions {
  readonly store: Store;
  readonly to: string;
  /** Allows `to` to exist. */
  readonly replace: boolean;
  readonly clock: Clock;
  readonly progress: (rows: number) => void;
  /**
   * Returns the current master key, by its id, or undefined for a backup without a MAC; throws to
   * abort the backup.
   */
  readonly keyOf: (id: string) => MasterKey | undefined;
}

async function* rowLines(
  { tables }: Transaction,
  table: TableShape,
  end: BackupEnd,
): AsyncGenerator<string> {
  const keyColumn = table.columns.indexOf("key_id");
  let page = await tables.page(table, undefined, PAGE_SIZE);
  let count = 0;
  while (page.length > 0) {
    for (const row of page) {
      const id = row[keyColumn];
      if (typeof id === "string" && !end.keys.includes(id)) end.keys.push(id);
      yield `${rowLine(row)}\n`;
    }
    count += page.length;
    end.rows[table.name] = count;
    page = await tables.page(table, page.at(-1), PAGE_SIZE);
  }
}

async function* contentLines(
  transaction: Transaction,
  options: BackupOptions,
  key: string,
): AsyncGenerator<string> {
  const createdAt = new Date(options.clock.now()).toISOString();
  const head: BackupHead = {
    vaultsync_backup: FORMAT_VERSION,
    schema: sqliteMigrations.length,
    made_at: createdAt,
    key,
  };
  yield `${JSON.stringify(head)}\n`;
  const end: BackupEnd = { rows: {}, keys: [key] };
  let written = 0;
  for (const table of backedUpTables) {
    end.rows[table.name] = 0;
    yield `${JSON.stringify({ table: table.name, columns: table.columns })}\n`;
    for await (const line of rowLines(transaction, table, end)) {
      yield line;
      written += 1;
      options.progress(written);
    }
  }
  yield `${JSON.stringify(end)}\n`;
}

async function writeContent(
  file: FileHandle,
  transaction: Transaction,
  options: BackupOptions,
): Promise<void> {
  const id = await transaction.settings.get(CURRENT_KEY);
  if (id === undefined) throw new Error("nothing to back up: no server has used this data yet");
  const key = options.keyOf(id);
  const hash = createHash("sha256");
  const mac = key?.mac(BACKUP_MAC);
  const put = async (bytes: Uint8Array): Promise<void> => {
    hash.update(bytes);
    mac?.update(bytes);
    await file.writeFile(bytes);
  };
  await put(opening(key?.id));
  await pipeline(
    Readable.from(contentLines(transaction, options, id)),
    createZstdCompress(),
    async (compressed: AsyncIterable<Uint8Array>) => {
      for await (const bytes of compressed) await put(bytes);
    },
  );
  await file.writeFile(closing(hash.digest(), mac?.digest()));
  await file.sync();
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, "r");
  await directory.sync();
}

async function exists(path: string): Promise<boolean> {
  return open(path, "r").then(
    async (file) => {
      await file.close();
      return true;
    },
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
  );
}

/**
 * Writes a consistent snapshot of the store to a file while servers run. The file is written under
 * a temporary name next to it, renamed when complete, and readable by its owner only.
 * @throws Error when the file exists and `replace` is false, or it cannot be written; then no file
 * is left behind
 */
export async function writeBackup(options: BackupOptions): Promise<void> {
  const { store, to, replace } = options;
  const alreadyExists = (): Error =>
    new Error(`${to} already exists: choose another name or add --force`);
  if (!replace && (await exists(to))) throw alreadyExists();
  const temporary = `${to}.${randomUUID()}.tmp`;
  try {
    {
      await using file = await open(temporary, "wx", 0o600);
      await store.read((transaction) => writeContent(file, transaction, options));
    }
    if (replace) await rename(temporary, to);
    else {
      // Unlike rename, link never replaces a file.
      await link(temporary, to).catch((error: NodeJS.ErrnoException) => {
        throw error.code === "EEXIST" ? alreadyExists() : error;
      });
    }
    await syncDirectory(dirname(resolve(to)));
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Tables of credentials that may have been revoked since the backup. */
const TOKEN_TABLES = ["access_tokens", "refresh_tokens"];

interface RestoreOptions {
  readonly progress: (rows: number) => void;
  /** Restores access and refresh tokens too. */
  readonly keepTokens: boolean;
}

/**
 * Restores a backup into an empty store, in one transaction. Tokens are omitted unless
 * `keepTokens`: some may have been revoked since.
 * @throws Error when the store is not empty, or the backup cannot be read
 */
export async function restoreBackup(
  store: Store,
  backup: BackupFile,
  { progress, keepTokens }: RestoreOptions,
): Promise<BackupSummary> {
  return store.write(async ({ tables }) => {
    const used = await tables.firstWithRows();
    if (used !== undefined)
      throw new Error(`the data is not empty, ${used} has rows: restore into an empty store`);
    let restored = 0;
    return backup.read(async ({ table, cells }) => {
      if (!keepTokens && TOKEN_TABLES.includes(table.name)) return;
      await tables.insert(table, cells);
      restored += 1;
      progress(restored);
    });
  });
}
