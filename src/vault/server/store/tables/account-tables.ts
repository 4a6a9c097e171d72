import type {
  AccessToken,
  AdminAction,
  Credentials,
  EmailProof,
  Identity,
  LoginFailures,
  RefreshToken,
  Session,
  TokenPair,
  User,
} from "../records.ts";

export interface UserTable {
  find(email: string): Promise<User | undefined>;
  /** Reports whether there is an account. */
  any(): Promise<boolean>;
  /** Returns all users in code point order of their emails. */
  list(): Promise<Pick<User, "email" | "disabled">[]>;
  /** Returns false, and changes nothing, when the address has an account. */
  insert(user: Credentials, now: number): Promise<boolean>;
  setPasswordHash(user: Credentials): Promise<void>;
  /** Returns the number of secrets, files and teams that a user has. */
  belongings(
    email: string,
  ): Promise<{ readonly secrets: number; readonly files: number; readonly teams: number }>;
  setDisabled(email: string, disabled: boolean): Promise<void>;
  /** Returns one password hash for each set of cost parameters in use. */
  hashesByCost(): Promise<string[]>;
  /**
   * Removes a user with tokens, sessions, blocked senders, memberships, received shares, and what
   * is kept under the address. The user owns no secrets, files and teams any more.
   */
  remove(email: string): Promise<void>;
}

export interface BlockedSenderTable {
  block(email: string, senders: readonly string[]): Promise<void>;
  unblock(email: string, senders: readonly string[]): Promise<void>;
  /** Returns the senders that a user has blocked, in code point order. */
  list(email: string): Promise<string[]>;
  has(email: string, sender: string): Promise<boolean>;
}

/** Changes by the operator's commands, until a server has written them to its audit log. */
export interface AdminActionTable {
  insert(action: AdminAction): Promise<void>;
  /** Returns all, oldest first. */
  list(): Promise<AdminAction[]>;
  remove(id: string): Promise<void>;
}

export interface IdentityTable {
  /** Returns `undefined` also for a row that no server has written. */
  find(issuer: string, subject: string): Promise<Identity | undefined>;
  /** Adds an identity, or replaces its account and scope. */
  put(identity: Identity, now: number): Promise<void>;
  /** Returns all identities in code point order of their issuers and subjects. */
  list(): Promise<Identity[]>;
  remove(issuer: string, subject: string): Promise<void>;
}

export interface SessionTable {
  find(digest: string): Promise<Session | undefined>;
  insert(session: Session): Promise<void>;
  /**
   * Removes the least recently used sessions of an account and keeps `keep` of them, including
   * `newest`.
   */
  removeOld(newest: Session, keep: number): Promise<void>;
  /** Returns the sessions of one account, the newest first. */
  list(email: string): Promise<Session[]>;
  /** Updates the expiry and the last use. */
  update(session: Session): Promise<void>;
  remove(digest: string): Promise<void>;
  /** Removes all sessions of one account. */
  removeOf(email: string): Promise<void>;
  /** Removes at most `atMost`; returns their number. */
  removeExpired(now: number, atMost: number): Promise<number>;
}

export interface EmailProofTable {
  find(digest: string): Promise<EmailProof | undefined>;
  insert(proof: EmailProof): Promise<void>;
  /** Removes all proofs of one address. */
  removeOf(email: string): Promise<void>;
  /** Removes at most `atMost`; returns their number. */
  removeExpired(now: number, atMost: number): Promise<number>;
}

export type ExpiredToken = Pick<AccessToken, "digest" | "expiresAt">;

export interface TokenTable {
  findAccess(digest: string): Promise<AccessToken | undefined>;
  insertAccess(token: AccessToken): Promise<void>;
  findRefresh(digest: string): Promise<RefreshToken | undefined>;
  insertRefresh(token: RefreshToken): Promise<void>;
  /**
   * Removes the oldest access tokens of a refresh token and keeps `keep` of them, including
   * `newest`.
   */
  removeOldAccess(newest: AccessToken, keep: number): Promise<void>;
  countRefresh(email: string): Promise<number>;
  /**
   * Removes the least recently used refresh tokens without a live access token, at most `atMost`;
   * returns their number.
   */
  removeIdleRefresh(email: string, now: number, atMost: number): Promise<number>;
  touchRefresh(digest: string, now: number): Promise<void>;
  /** Records a use of an access token. */
  touchAccess(digest: string, now: number): Promise<void>;
  /**
   * Returns the digests of the refresh tokens of all pairs of one account, including expired ones
   * that have not been removed yet.
   */
  logins(email: string): Promise<string[]>;
  /** Returns the pairs of these refresh tokens, in any order, without those that are gone. */
  pairs(refreshDigests: readonly string[]): Promise<TokenPair[]>;
  /** Removes a refresh token and all its access tokens. */
  removePair(email: string, refreshDigest: string): Promise<void>;
  /**
   * Removes at most `atMost` refresh tokens last used at or before `lastUsedAt`; returns their
   * number.
   */
  removeUnused(lastUsedAt: number, atMost: number): Promise<number>;
  /**
   * Reads at most `atMost` expired access tokens after another one and removes those whose refresh
   * token is gone: a refresh needs the rest. Returns the last one read, or undefined at the end.
   */
  removeOrphans(
    now: number,
    after: ExpiredToken | undefined,
    atMost: number,
  ): Promise<ExpiredToken | undefined>;
  /** Removes all access and refresh tokens of one account. */
  removeOf(email: string): Promise<void>;
  /**
   * Returns the given users who have a valid access token, a valid web session, or a refresh token
   * last used after `lastUsedAfter`.
   */
  live(emails: readonly string[], lastUsedAfter: number, now: number): Promise<ReadonlySet<string>>;
  /** Reports whether all members of a team but one have one of these. */
  haveLive(groupId: string, except: string, lastUsedAfter: number, now: number): Promise<boolean>;
}

export interface LoginFailureTable {
  since(subject: string, from: number): Promise<LoginFailures>;
  add(subject: string, at: number): Promise<void>;
  clear(subject: string): Promise<void>;
  /**
   * Removes the subjects that continue a prefix after a space, except the ones with the newest
   * `keep` timestamps.
   */
  keepNewest(prefix: string, keep: number): Promise<void>;
  /** Removes at most `atMost`; returns their number. */
  removeBefore(timestamp: number, atMost: number): Promise<number>;
}

/** Amounts that accounts own. */
export interface Usage {
  readonly secrets: number;
  /** Versions of secrets and files. */
  readonly versions: number;
  /** Sealed values, metadata and files. */
  readonly bytes: number;
  /** Shares of the secrets. */
  readonly grants: number;
}

/** Amounts by account. Triggers of the database keep them up to date, whatever changes the rows. */
export interface UsageTable {
  of(email: string): Promise<Usage>;
  /** Returns the sums over all accounts. */
  total(): Promise<Usage>;
}

/** Facts about the data as a whole, such as the id of its master key. */
export interface SettingTable {
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
}
