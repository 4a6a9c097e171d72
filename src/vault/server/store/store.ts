import type { Changes } from "./change-feed.ts";
import type {
  AdminActionTable,
  BlockedSenderTable,
  EmailProofTable,
  IdentityTable,
  LoginFailureTable,
  SessionTable,
  TokenTable,
  UserTable,
  UsageTable,
  SettingTable,
} from "./tables/account-tables.ts";
import type { ConsumerTable } from "./tables/consumer-table.ts";
import type { FileTable } from "./tables/file-table.ts";
import type { HandOverTable } from "./tables/hand-over-table.ts";
import type { ListRevisionTable } from "./tables/list-revision-table.ts";
import type { OutboxTable } from "./tables/outbox-table.ts";
import type { RawTables } from "./tables/raw-tables.ts";
import type { RightTable, WrappedKeyTable } from "./tables/rotation-tables.ts";
import type { SecretTable } from "./tables/secret-table.ts";
import type { GrantTable, TeamTable } from "./tables/sharing-tables.ts";
import type { TrashTable } from "./tables/trash-table.ts";

export interface Transaction {
  readonly users: UserTable;
  readonly tokens: TokenTable;
  readonly sessions: SessionTable;
  readonly emailProofs: EmailProofTable;
  readonly loginFailures: LoginFailureTable;
  readonly blockedSenders: BlockedSenderTable;
  readonly adminActions: AdminActionTable;
  readonly identities: IdentityTable;
  readonly secrets: SecretTable;
  readonly grants: GrantTable;
  readonly teams: TeamTable;
  readonly listRevisions: ListRevisionTable;
  readonly files: FileTable;
  readonly consumers: ConsumerTable;
  readonly trash: TrashTable;
  readonly handOver: HandOverTable;
  readonly outbox: OutboxTable;
  readonly usage: UsageTable;
  readonly wrappedKeys: WrappedKeyTable;
  readonly tables: RawTables;
  readonly rights: RightTable;
  readonly settings: SettingTable;
}

/** The reader or writer: a store is fair among accounts, and among the logins of each. */
export interface Party {
  /** Email, or a name for others, such as a network. */
  readonly account: string;
  /** Digest of a credential, for example; work without one takes the turns of one login. */
  readonly login?: string | undefined;
}

/** The party that writes. */
export interface Writer extends Party {
  /**
   * Returns the account whose data the write changes, when it may be another one. It is not needed
   * for the write to be correct.
   */
  readonly ownerOf?: (() => Promise<string | undefined>) | undefined;
  /**
   * The write reads and changes grants of one owner's secrets to many accounts. Such writes follow
   * each other. They are correct on one snapshot: all else that changes the same secrets changes a
   * row that they change, such as the usage of the owner.
   */
  readonly wide?: boolean | undefined;
  /**
   * The write changes what all writes read: it waits for those in progress, and later ones for it.
   */
  readonly alone?: boolean | undefined;
}

/** The server itself, with work that no account causes. */
export const server: Party = { account: "" };

/** The writer of work that no request waits for, such as removing what is retired. */
export const background: Writer = { account: "background" };

/**
 * The storage of the server. Writes are serializable. `work` awaits nothing but the transaction,
 * and does not use it after it has settled. Methods that are started together save round trips;
 * their statements run in the order of the calls. `work` may run again from its start when a
 * concurrent write conflicts with it: its other effects must be idempotent. Every method rejects
 * with `StoreUnavailableError` when the store cannot be reached; a write may then have been
 * committed or not.
 */
/** Numbers of steps: the schema before and after the migration of a store. */
export interface Migration {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the migration of data of an earlier release, whose schema is not 0.
 * @throws Error when it may not be migrated
 */
export function migrationFrom(from: number, to: number, migrates = true): Migration | undefined {
  if (from === 0 || from >= to) return undefined;
  if (migrates) return { from, to };
  throw new Error(
    `the data is of an earlier release (schema ${from}, expected ${to}): use the command of that release, or start a server of this one first to migrate it`,
  );
}

export interface Store extends AsyncDisposable {
  /** The migration when it was opened; `undefined` for new data and for data of this release. */
  readonly migration?: Migration | undefined;
  /**
   * Commits when `work` resolves; rolls back, and rejects with its error, when it rejects. A
   * committed write survives a crash.
   * @param writer omitted for short writes of the server
   */
  write<T>(work: (transaction: Transaction) => Promise<T>, writer?: Writer): Promise<T>;
  /**
   * Runs `work` on one consistent snapshot, without writing.
   * @param reader omitted for reads of the server
   */
  read<T>(work: (transaction: Transaction) => Promise<T>, reader?: Party): Promise<T>;
  /**
   * Runs `work`, of one statement at most, without the statements that begin and end a transaction.
   */
  readOne<T>(work: (transaction: Transaction) => Promise<T>, reader?: Party): Promise<T>;
  /**
   * Changes that this process committed and, after `listen`, changes of other processes with the
   * same database.
   */
  readonly changes: Changes;
  /**
   * Starts to receive the changes of other processes, until disposed; the connection is replaced
   * when it is lost.
   */
  listen(): Promise<void>;
  /**
   * Overwrites the bytes of removed rows, as far as the database supports it
   * (docs/vault-server.md).
   */
  scrub(): Promise<void>;
  /**
   * Bytes that removed rows left within the data file for new rows; 0 when the disk is another
   * server's.
   */
  reusableBytes(): Promise<number>;
}

/**
 * The store cannot be reached or is too busy. The request itself is valid; retrying later helps.
 */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
}
