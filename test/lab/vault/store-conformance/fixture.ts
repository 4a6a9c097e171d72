import { afterEach, beforeEach } from "vitest";
import { KeyRing } from "../../../../src/vault/server/crypto/key-ring.ts";
import { generateMasterKey, MasterKey } from "../../../../src/vault/server/crypto/master-key.ts";
import { CURRENT_KEY } from "../../../../src/vault/server/store/current-key.ts";
import { RowMacs, type DamagedRow } from "../../../../src/vault/server/store/row-macs.ts";
import type { Envelope } from "../../../../src/vault/server/crypto/envelope.ts";
import type {
  Secret,
  SecretAccess,
  SecretVersion,
} from "../../../../src/vault/server/store/records.ts";
import type { Store, Transaction } from "../../../../src/vault/server/store/store.ts";

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

/** Opens a fresh store, and disposes of it with its data. `run` runs a statement past the store. */
export type OpenStore = (macs: RowMacs) => Promise<{
  readonly store: Store;
  readonly run: (sql: string) => Promise<unknown>;
  readonly close: () => Promise<void>;
}>;

export interface StoreFixture {
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

export function storeFixture(open: OpenStore): StoreFixture {
  let opened: Awaited<ReturnType<OpenStore>>;
  const damaged: DamagedRow[] = [];
  const texts = [generateMasterKey(), generateMasterKey()] as const;
  const macs = new RowMacs(KeyRing.of(...texts), (row) => void damaged.push(row));
  beforeEach(async () => {
    opened = await open(macs);
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
