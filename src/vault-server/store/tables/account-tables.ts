import type { AccessToken, EmailProof, LoginFailures, RefreshToken, Session, User } from "../records.ts";

export interface UserTable {
  find(email: string): Promise<User | undefined>;
  /** Returns the emails of all users in code point order. */
  list(): Promise<string[]>;
  /** Returns false, and changes nothing, when the address has an account. */
  insert(user: User, now: number): Promise<boolean>;
  setPasswordHash(user: User): Promise<void>;
}

export interface SessionTable {
  find(digest: string): Promise<Session | undefined>;
  insert(session: Session): Promise<void>;
  /** Updates the expiry. */
  update(session: Session): Promise<void>;
  remove(digest: string): Promise<void>;
  /** Removes all sessions of one account. */
  removeOf(email: string): Promise<void>;
  removeExpired(now: number): Promise<void>;
}

export interface EmailProofTable {
  find(digest: string): Promise<EmailProof | undefined>;
  insert(proof: EmailProof): Promise<void>;
  /** Removes all proofs of one address. */
  removeOf(email: string): Promise<void>;
  removeExpired(now: number): Promise<void>;
}

export interface TokenTable {
  findAccess(digest: string): Promise<AccessToken | undefined>;
  insertAccess(token: AccessToken): Promise<void>;
  findRefresh(digest: string): Promise<RefreshToken | undefined>;
  insertRefresh(token: RefreshToken): Promise<void>;
  touchRefresh(digest: string, now: number): Promise<void>;
  /** Removes refresh tokens last used at or before `lastUsedAt`, and expired access tokens whose refresh token is gone. */
  removeExpired(lastUsedAt: number, now: number): Promise<void>;
  /** Removes all access and refresh tokens of one account. */
  removeOf(email: string): Promise<void>;
  /**
   * Reports whether the user has a valid access token, a valid web session, or a refresh token last used after `lastUsedAfter`.
   */
  hasLive(email: string, lastUsedAfter: number, now: number): Promise<boolean>;
}

export interface LoginFailureTable {
  since(subject: string, from: number): Promise<LoginFailures>;
  add(subject: string, at: number): Promise<void>;
  clear(subject: string): Promise<void>;
  removeBefore(timestamp: number): Promise<void>;
}
