/** The revision of a user's list of secrets. */
interface ListRevision {
  readonly revision: string;
  /** Subjects whose changes give the list a new revision (`store/change-feed.ts`). */
  readonly subjects: readonly string[];
}

/**
 * Revisions of each user's list of secrets: a list with the same revision has the same content,
 * apart from deadlines and expiries that pass. A revision is never reused. Only accounts and teams
 * have revisions, not every address that a secret was shared with. `withListRevisions` keeps them
 * up to date within a transaction.
 */
export interface ListRevisionTable {
  of(email: string): Promise<ListRevision>;
  /**
   * Returns the revision of a user's list of files; `undefined` until it first changes, whatever
   * its content.
   */
  ofFiles(email: string): Promise<string | undefined>;
  touchUsers(emails: readonly string[]): Promise<void>;
  /** Gives a new revision to the list of files that contains this file. */
  touchOwnerOfFile(fileId: string): Promise<void>;
  /** Gives a new revision to every user with access to this secret. */
  touchUsersOfSecret(secretId: string): Promise<void>;
  /** Gives a new revision to every user with access to a secret that is granted to this team. */
  touchUsersOfTeamSecrets(groupId: string): Promise<void>;
  /** Removes the revision of a team. */
  removeTeam(groupId: string): Promise<void>;
  /** Gives a new revision to every user with access to a secret that this user owns. */
  touchUsersOfOwner(email: string): Promise<void>;
  /**
   * Gives a new revision to every user with access to a secret that is granted to this user
   * directly.
   */
  touchUsersOfGrantee(email: string): Promise<void>;
}
