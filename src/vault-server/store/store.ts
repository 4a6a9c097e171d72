import type { Permission } from "../../protocol/responses.ts";
import type { Metadata } from "../../protocol/metadata.ts";
import type { Envelope } from "../crypto/envelope.ts";
import type { WrappedKey } from "../crypto/master-key.ts";
import type { TableShape } from "./tables.ts";

/** Moments are milliseconds since the epoch, possibly beyond JavaScript's dates; e-mail addresses are canonical (`canonicalEmail`). */
export interface User {
  readonly email: string;
  /** A PHC string. */
  readonly passwordHash: string;
}

/** A refresh token and what its access tokens get. Tokens are known by the hexadecimal SHA-256 of their text only. */
export interface RefreshToken {
  readonly digest: string;
  readonly email: string;
  readonly scope: string;
  readonly hours: number;
  readonly lastUsedAt: number;
}

export interface AccessToken {
  readonly digest: string;
  /** Of the refresh token it was issued with or by. */
  readonly refreshDigest: string;
  readonly email: string;
  readonly scope: string;
  readonly expiresAt: number;
}

/** A secret apart from its versions. `nextVersion` was never used yet. */
export interface Secret {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly nextVersion: number;
  /** As it was last set. */
  readonly deleteMinutes: number;
  readonly deleteAt: number;
}

export interface SecretVersion {
  readonly version: number;
  readonly metadata: Metadata;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A secret as one person has it: their own, or one granted to them, directly or through a team. */
export interface Holding {
  readonly secret: Secret;
  readonly latest: SecretVersion;
  /** Whether there is any grant of it, to whomever. */
  readonly shared: boolean;
  /** What direct and team grants add up to; `RW` for its creator. */
  readonly permission: Permission;
}

/** Whom a secret can be granted to. */
export type Grantee = { readonly kind: "person"; readonly email: string } | { readonly kind: "team"; readonly groupId: string };

export type Grant = Grantee & { readonly permission: Permission };

/** `members` by code point, the creator among them. */
export interface Team {
  readonly groupId: string;
  readonly creator: string;
  readonly members: readonly string[];
}

export interface StoredFile {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly nextVersion: number;
}

/** One version of a file; its bytes are the chunks of `blobId`, its sha256 is what `digest` seals. `size` in bytes. */
export interface FileVersion {
  readonly version: number;
  readonly size: number;
  readonly createdAt: number;
  readonly blobId: string;
  readonly digest: Envelope;
}

interface WrappedVersion {
  /** Of the secret or file. */
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly version: number;
  readonly key: WrappedKey;
}

/** A version whose own key a master key wraps, with all that binds it. */
export type WrappedRecord =
  | ({ readonly kind: "secret" } & WrappedVersion)
  | ({ readonly kind: "file"; readonly blobId: string; readonly size: number } & WrappedVersion);

/** A log-in of the web application, known by its token's hexadecimal SHA-256 only. `expiresAt` moves with use, within bounds. */
export interface Session {
  readonly digest: string;
  readonly email: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** Whoever shows the token with this digest has read mail sent to this address: they may set its password. */
export interface EmailProof {
  readonly digest: string;
  readonly email: string;
  readonly expiresAt: number;
}

/** Mail that is to be sent. It is kept without a token: each attempt to send makes its own. */
export interface Letter {
  readonly id: string;
  /** `invitation`: `from` shared something with `to`. `confirmation`: `to`, who wants to set a password, proves to be `to`. */
  readonly kind: "invitation" | "confirmation";
  readonly to: string;
  readonly from: string;
  /** Failed ones so far. */
  readonly attempts: number;
  /** Not tried before. */
  readonly dueAt: number;
}

/** Failed log-ins of one subject (an account or an address) within a window; letters asked for are counted alike. */
export interface LoginFailures {
  readonly count: number;
  readonly lastAt: number;
}

export interface UserTable {
  find(email: string): Promise<User | undefined>;
  /** Answers false, and changes nothing, when the address has an account. */
  insert(user: User, now: number): Promise<boolean>;
  setPasswordHash(user: User): Promise<void>;
}

export interface SessionTable {
  find(digest: string): Promise<Session | undefined>;
  insert(session: Session): Promise<void>;
  /** Sets what may change: when it is over. */
  update(session: Session): Promise<void>;
  remove(digest: string): Promise<void>;
  /** All of one account. */
  removeOf(email: string): Promise<void>;
  removeLapsed(now: number): Promise<void>;
}

export interface EmailProofTable {
  find(digest: string): Promise<EmailProof | undefined>;
  insert(proof: EmailProof): Promise<void>;
  /** All of one address. */
  removeOf(email: string): Promise<void>;
  removeLapsed(now: number): Promise<void>;
}

export interface OutboxTable {
  /** Answers false, and changes nothing, while one of the same kind and sender to the same recipient is there. */
  insert(letter: Letter): Promise<boolean>;
  count(): Promise<number>;
  /** The letters that are due, the oldest first, and makes them due at `until`: nobody else takes them before. */
  claim(now: number, until: number, atMost: number): Promise<Letter[]>;
  /** Sets what may change: the attempts and when it is due. */
  update(letter: Letter): Promise<void>;
  remove(id: string): Promise<void>;
}

export interface TokenTable {
  findAccess(digest: string): Promise<AccessToken | undefined>;
  insertAccess(token: AccessToken): Promise<void>;
  findRefresh(digest: string): Promise<RefreshToken | undefined>;
  insertRefresh(token: RefreshToken): Promise<void>;
  touchRefresh(digest: string, now: number): Promise<void>;
  /** Forgets refresh tokens last used at or before that moment, and expired access tokens that have none left. */
  removeLapsed(lastUsedAt: number, now: number): Promise<void>;
  /** All of one account, of both kinds. */
  removeOf(email: string): Promise<void>;
  /** Whether the person has an access token or a web session that is not over, or a refresh token last used after that moment. */
  hasLive(email: string, lastUsedAfter: number, now: number): Promise<boolean>;
}

export interface LoginFailureTable {
  since(subject: string, from: number): Promise<LoginFailures>;
  add(subject: string, at: number): Promise<void>;
  clear(subject: string): Promise<void>;
  removeBefore(moment: number): Promise<void>;
}

export interface SecretTable {
  /** What the person has by this name, by its owners in code point order; without what is past its deadline. */
  held(email: string, name: string, now: number): Promise<Holding[]>;
  /** The ids of all that the person has, by name, then owner, in code point order; without what is past its deadline. */
  listIds(email: string, now: number): Promise<string[]>;
  /** What the person has, and still has, of these at most `LISTED_AT_ONCE`; ordered and left out as in `listIds`. */
  listed(email: string, ids: readonly string[], now: number): Promise<Holding[]>;
  insert(secret: Secret): Promise<void>;
  /** Sets what may change: the next version and the deadline. */
  update(secret: Secret): Promise<void>;
  insertVersion(secretId: string, version: SecretVersion, value: Envelope): Promise<void>;
  /** Ascending. */
  versions(secretId: string): Promise<SecretVersion[]>;
  version(secretId: string, version: number): Promise<SecretVersion | undefined>;
  latest(secretId: string): Promise<SecretVersion | undefined>;
  /** Sets what may change: the metadata and when it did. */
  updateVersion(secretId: string, version: SecretVersion): Promise<void>;
  removeVersion(secretId: string, version: number): Promise<void>;
  value(secretId: string, version: number): Promise<Envelope | undefined>;
  /** With everything that hangs on it. */
  remove(secretId: string): Promise<void>;
  /** Removes secrets whose deadline has come, with everything that hangs on them; answers how many. */
  removeDue(now: number): Promise<number>;
}

/** How much of a list is read at once, so that a long one holds up nobody. */
export const LISTED_AT_ONCE = 500;

/**
 * What tells whether a person's list of secrets is still what it was: a revision comes once and never again. The tables of a transaction
 * see to it (`revisingLists`); what time alone changes, deadlines and expiry, has no part in it.
 */
export interface ListRevisionTable {
  of(email: string): Promise<string>;
  touchPeople(emails: readonly string[]): Promise<void>;
  /** Of everybody who has this secret. */
  touchHolders(secretId: string): Promise<void>;
  /** Of everybody who has a secret that is granted to this team. */
  touchHoldersThroughTeam(groupId: string): Promise<void>;
  /** Of everybody who has a secret whose deadline has come. */
  touchHoldersOfDue(now: number): Promise<void>;
}

export interface GrantTable {
  /** Grants, or replaces the permission; who had put a team's grant away has it again. */
  grant(secretId: string, grantee: Grantee, permission: Permission): Promise<void>;
  /** Answers whether there was such a grant. */
  revoke(secretId: string, grantee: Grantee): Promise<boolean>;
  /** People's, then teams', each by code point. */
  grantees(secretId: string): Promise<Grant[]>;
  /** Takes from this one person whatever they have of the secret now: a direct grant for good, grants to their teams for them alone. */
  putAway(secretId: string, email: string): Promise<void>;
}

export interface TeamTable {
  find(groupId: string): Promise<Team | undefined>;
  /** Answers false, and changes nothing, when the name is taken. */
  insert(team: Team): Promise<boolean>;
  addMembers(groupId: string, emails: readonly string[]): Promise<void>;
  removeMembers(groupId: string, emails: readonly string[]): Promise<void>;
  /** The teams somebody is a member of, by name in code point order. */
  list(email: string): Promise<Team[]>;
  /** With its grants. */
  remove(groupId: string): Promise<void>;
}

export interface FileTable {
  find(owner: string, name: string): Promise<StoredFile | undefined>;
  insert(file: StoredFile): Promise<void>;
  update(file: StoredFile): Promise<void>;
  /** Makes a staged blob a version: it is no longer stale. */
  insertVersion(fileId: string, version: FileVersion): Promise<void>;
  version(fileId: string, version: number): Promise<FileVersion | undefined>;
  latest(fileId: string): Promise<FileVersion | undefined>;
  /** Numbers of all versions, ascending. */
  versions(fileId: string): Promise<number[]>;
  /** The owner's files by name in code point order, versions ascending. */
  list(owner: string): Promise<{ file: StoredFile; versions: FileVersion[] }[]>;
  /** With its bytes. */
  removeVersion(fileId: string, version: number): Promise<void>;
  /** With its versions and their bytes. */
  remove(fileId: string): Promise<void>;
  /** Announces a blob whose chunks follow. */
  stage(blobId: string, now: number): Promise<void>;
  putChunk(blobId: string, index: number, sealed: Uint8Array): Promise<void>;
  chunk(blobId: string, index: number): Promise<Uint8Array | undefined>;
  /** Removes staged blobs that never became a version: these, or all announced before that moment. Answers how many. */
  discard(blobIds: readonly string[]): Promise<number>;
  discardStagedBefore(moment: number): Promise<number>;
}

/** Everything a master key wraps, across the tables: what rotating it goes through. */
export interface WrappedKeyTable {
  /** Versions whose key another master key than this wraps, in a fixed order, those behind `after` only. */
  otherThan(
    kind: WrappedRecord["kind"],
    masterKeyId: string,
    after: WrappedRecord | undefined,
    atMost: number,
  ): Promise<WrappedRecord[]>;
  /** Answers false, and changes nothing, when the version is gone or its key is wrapped otherwise than `record` says. */
  replace(record: WrappedRecord, key: WrappedKey): Promise<boolean>;
  countOtherThan(masterKeyId: string): Promise<number>;
}

/** One column of one row. */
export type Cell = string | number | Uint8Array;

/** Tables as rows of columns, whatever they mean: for backups. */
export interface RawTables {
  /** Rows by the table's key, those behind `after` only; their cells in the order of its columns. */
  page(table: TableShape, after: readonly Cell[] | undefined, atMost: number): Promise<Cell[][]>;
  insert(table: TableShape, row: readonly Cell[]): Promise<void>;
  /** A table that is not empty. */
  firstWithRows(): Promise<string | undefined>;
}

/** Small facts about the data as a whole, such as the id of its master key. */
export interface SettingTable {
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
}

export interface Transaction {
  readonly users: UserTable;
  readonly tokens: TokenTable;
  readonly sessions: SessionTable;
  readonly emailProofs: EmailProofTable;
  readonly loginFailures: LoginFailureTable;
  readonly secrets: SecretTable;
  readonly grants: GrantTable;
  readonly teams: TeamTable;
  readonly listRevisions: ListRevisionTable;
  readonly files: FileTable;
  readonly outbox: OutboxTable;
  readonly wrappedKeys: WrappedKeyTable;
  readonly tables: RawTables;
  readonly settings: SettingTable;
}

/**
 * Where the server keeps everything. Writes are serialisable. `work` awaits nothing but the transaction, one call after another, and a
 * transaction is not used after `work` has settled. `work` may be run again from its beginning, when others wrote meanwhile what it had
 * read: it has no other effects, or only such as may happen twice. Every method rejects with `StoreUnavailable` when the store cannot be
 * reached; a write may then have been committed or not.
 */
export interface Store extends AsyncDisposable {
  /** Commits when `work` resolves; rolls back, and rejects alike, when it rejects. A committed write survives a crash. */
  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** One consistent view; writes nothing. */
  read<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Overwrites the bytes of removed rows wherever the store still holds them, as far as the database lets it (docs/vault-server.md). */
  scrub(): Promise<void>;
}
