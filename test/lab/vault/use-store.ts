import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { KeyRing } from "../../../src/vault/server/crypto/key-ring.ts";
import { generateMasterKey, MasterKey } from "../../../src/vault/server/crypto/master-key.ts";
import { CURRENT_KEY } from "../../../src/vault/server/store/current-key.ts";
import { RowMacs, type DamagedRow } from "../../../src/vault/server/store/row-macs.ts";
import type { Envelope } from "../../../src/vault/server/crypto/envelope.ts";
import type {
  Secret,
  SecretAccess,
  SecretVersion,
} from "../../../src/vault/server/store/records.ts";
import { openPostgresStore } from "../../../src/vault/server/store/postgres/postgres-store.ts";
import { openSqliteStore } from "../../../src/vault/server/store/sqlite/sqlite-store.ts";
import type { Store, Transaction } from "../../../src/vault/server/store/store.ts";
import { PostgresDatabase } from "../postgres/postgres-database.ts";
import { onPostgres } from "./vault-data.ts";

export const NOW = 1_700_000_000_000;
/** Beyond JavaScript's dates and 64-bit integers. */
export const FAR = 1e18 + 0.5e6;
/**
 * In order by code point. The order of UTF-16 differs: by code point, U+FFFD comes before U+10000.
 */
export const SORTED_NAMES = [
  "",
  " ",
  "A",
  "Z",
  "a",
  "ab",
  "b",
  "é",
  "中",
  "\uFFFD",
  "\u{10000}",
  "💚",
];

interface OpenedStore {
  readonly store: Store;
  /** Runs a statement past the store. */
  readonly run: (sql: string) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

export interface UsedStore {
  /** A fresh store for each test, with the accounts ann, bob and eve. */
  readonly store: () => Store;
  readonly write: <T>(work: (transaction: Transaction) => Promise<T>) => Promise<T>;
  readonly read: <T>(work: (transaction: Transaction) => Promise<T>) => Promise<T>;
  /** Runs a statement as a writer of the database, without a master key. */
  readonly run: (sql: string) => Promise<unknown>;
  /** Damaged rows that were read since the last call. */
  readonly damage: () => DamagedRow[];
  /** The current master key, and another one. */
  readonly keys: readonly [MasterKey, MasterKey];
  readonly macs: RowMacs;
}

export const ANN = "ann@example.com";
export const BOB = "bob@example.com";
export const EVE = "eve@example.com";

async function openSqlite(macs: RowMacs): Promise<OpenedStore> {
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
  const location = join(directory, "vault.db");
  const store = openSqliteStore(location, macs);
  return {
    store,
    run: async (sql) => {
      using database = new DatabaseSync(location);
      database.exec(sql);
    },
    close: async () => {
      await store[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

const TABLES = `SELECT string_agg(quote_ident(tablename), ', ') AS tables FROM pg_tables
  WHERE schemaname = 'public' AND tablename <> 'schema_version'`;

async function openPostgres(database: PostgresDatabase, macs: RowMacs): Promise<OpenedStore> {
  const store = await openPostgresStore(database.url, { macs });
  return {
    store,
    run: (sql) => database.run(sql),
    close: async () => {
      await store[Symbol.asyncDispose]();
      // Emptying is quicker than another database.
      await database.run(`TRUNCATE ${(await database.run(TABLES)).rows[0].tables}`);
    },
  };
}

/**
 * Opens a store for each test of a `describe`: a SQLite file, or a PostgreSQL database in the
 * project `postgres`.
 */
export function useStore(): UsedStore {
  let database: PostgresDatabase | undefined;
  let opened: OpenedStore;
  const damaged: DamagedRow[] = [];
  const texts = [generateMasterKey(), generateMasterKey()] as const;
  const macs = new RowMacs(KeyRing.of(...texts), (row) => void damaged.push(row));
  beforeAll(async () => {
    database = onPostgres() ? await PostgresDatabase.create() : undefined;
  });
  afterAll(() => database?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    opened = await (database === undefined ? openSqlite(macs) : openPostgres(database, macs));
    await opened.store.write(async ({ users, settings }) => {
      await settings.set(CURRENT_KEY, keys[0].id);
      for (const email of [ANN, BOB, EVE])
        await users.insert({ email, passwordHash: `hash of ${email}` }, NOW);
    });
  });
  afterEach(() => opened.close());
  const keys = [new MasterKey(texts[0]), new MasterKey(texts[1])] as const;
  return {
    keys,
    macs,
    damage: () => damaged.splice(0),
    run: (sql) => opened.run(sql),
    store: () => opened.store,
    write: (work) => opened.store.write(work),
    read: (work) => opened.store.read(work),
  };
}

export function secretOf(owner: string, name: string, changed: Partial<Secret> = {}): Secret {
  return {
    id: `id-of-${owner}-${name}`,
    owner,
    name,
    nextVersion: 1,
    deleteMinutes: 5,
    deleteAt: FAR,
    ...changed,
  };
}

export function versionOf(version: number, metadata: SecretVersion["metadata"]): SecretVersion {
  return { version, metadata, createdAt: NOW, createdBy: ANN, updatedAt: NOW };
}

export function envelope(text: string): Envelope {
  return { keyId: "key-1", wrappedKey: Buffer.from(`key of ${text}`), sealed: Buffer.from(text) };
}

/** A secret with one version, whose value is its name. */
export async function addSecret(
  { secrets }: Transaction,
  owner: string,
  name: string,
  changed: Partial<Secret> = {},
): Promise<Secret> {
  const secret = secretOf(owner, name, { nextVersion: 2, ...changed });
  await secrets.insert(secret);
  await secrets.insertVersion(secret.id, versionOf(1, { name }), envelope(name));
  return secret;
}

export async function listOf(
  { secrets }: Transaction,
  email: string,
  now = NOW,
): Promise<SecretAccess[]> {
  return secrets.accessByIds(email, await secrets.listIds(email, now), now);
}

/** Whatever holds the bytes. */
export function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes && Buffer.from(bytes).toString();
}
