import type { Permission } from "../../../../protocol/responses.ts";
import type { Grant, Grantee, NamedAccess, Recipient, SecretIdentity, Team } from "../records.ts";

/** Amounts that one sender has shared with a recipient who has not accepted the sender. */
export interface UnacceptedShares {
  readonly recipient: string;
  readonly sender: string;
  readonly blocked: boolean;
  readonly secrets: number;
  /** Bytes of the metadata of their latest versions. */
  readonly bytes: number;
}

export interface GrantTable {
  /**
   * Seals the grants of a secret for its next owner and name: call it before the secret is moved.
   * Damaged ones stay damaged.
   */
  sealFor(from: SecretIdentity, to: SecretIdentity): Promise<void>;
  /**
   * Adds grants or replaces their permission. Members of a team who had dismissed its grant see the
   * secret again.
   */
  grant(
    secret: SecretIdentity,
    recipients: readonly Recipient[],
    permission: Permission,
  ): Promise<void>;
  /** Returns the given grantees who had a grant: users, then teams, each sorted. */
  revoke(secretId: string, grantees: readonly Grantee[]): Promise<Grantee[]>;
  /**
   * Returns the permission that the grants of a secret to a user and the user's teams add up to, of
   * those that a server has written; `undefined` without any.
   */
  authenticPermission(
    access: Pick<NamedAccess, "secret" | "evidence">,
    email: string,
  ): Permission | undefined;
  /**
   * Returns grants to users, then grants to teams, each in code point order: all, or at most
   * `atMost` after one.
   */
  grantees(secretId: string, after?: Grantee, atMost?: number): Promise<Grant[]>;
  /**
   * Removes one user's access: deletes a direct grant and hides grants to their teams from this
   * user only.
   */
  dismissShare(secretId: string, email: string): Promise<void>;
  /**
   * Reports whether a server has granted a secret to this address, or made it a member of a team.
   */
  isInvited(email: string): Promise<boolean>;
  /**
   * Returns the users who share with this address or added it to a team, without blocked ones, in
   * code point order, at most `atMost`.
   */
  inviters(email: string, atMost: number): Promise<string[]>;
  /**
   * Returns what each of these addresses has received from each sender whom it has not accepted: it
   * shares no secret with the sender, directly or with a team of which the sender is a member, and
   * has created no such team.
   */
  unaccepted(emails: readonly string[], now: number): Promise<UnacceptedShares[]>;
  /**
   * Reports whether an address has accepted a user (`unaccepted`), the user shares with it
   * directly, or both are members of a team that the user did not create.
   */
  isAcquainted(email: string, user: string): Promise<boolean>;
  /** Returns the number of grants of a secret. */
  countOf(secretId: string): Promise<number>;
  /** Counts the grants of a secret to these grantees. */
  countAmong(secretId: string, grantees: readonly Grantee[]): Promise<number>;
  /** Returns the addresses that a secret is granted to, directly or through teams, each once. */
  recipients(secretId: string): Promise<string[]>;
  /** Returns the ids of at most `atMost` secrets that are granted to a user directly. */
  received(email: string, atMost: number): Promise<string[]>;
  /** Removes all direct grants to one user, and what the user has dismissed. */
  removeOf(email: string): Promise<void>;
}

/** A member of a team. */
export interface Membership {
  readonly groupId: string;
  readonly creator: string;
  readonly member: string;
}

export interface TeamTable {
  /**
   * Returns `undefined` also for a team whose creator no server has written; with `member`, also
   * unless a server has made this address a member of this team.
   */
  find(groupId: string, member?: string): Promise<Team | undefined>;
  /** Returns false, and changes nothing, when the name, or one that looks like it, is taken. */
  insert(team: Team): Promise<boolean>;
  /**
   * Makes `insert` compare names with the names of at most `atMost` teams of an earlier release.
   * Returns the number of these teams.
   */
  addLooks(atMost: number): Promise<number>;
  /** Returns the number of teams that a user created. */
  countOf(creator: string): Promise<number>;
  addMembers(team: Pick<Team, "groupId" | "id">, emails: readonly string[]): Promise<void>;
  removeMembers(groupId: string, emails: readonly string[]): Promise<void>;
  /**
   * Returns at most `atMost` members of the teams that a user is a member of, by team, then email,
   * in code point order, starting after a team.
   */
  list(email: string, after: string | undefined, atMost: number): Promise<Membership[]>;
  /** Removes a team with its grants. */
  remove(groupId: string): Promise<void>;
  /** Makes a user the creator of a team, and a member. */
  setCreator(team: Pick<Team, "groupId" | "id">, email: string): Promise<void>;
  /** Returns the names of the teams that a user created. */
  createdBy(email: string): Promise<string[]>;
}
