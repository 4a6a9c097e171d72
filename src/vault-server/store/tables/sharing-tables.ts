import type { Permission } from "../../../protocol/responses.ts";
import type { Grant, Grantee, Team } from "../records.ts";

export interface GrantTable {
  /** Adds grants or replaces their permission. Members of a team who had dismissed its grant see the secret again. */
  grant(secretId: string, grantees: readonly Grantee[], permission: Permission): Promise<void>;
  /** Returns the number of these grants that there were. */
  revoke(secretId: string, grantees: readonly Grantee[]): Promise<number>;
  /** Returns grants to users, then grants to teams, each in code point order. */
  grantees(secretId: string): Promise<Grant[]>;
  /** Removes one user's access: deletes a direct grant and hides grants to their teams from this user only. */
  dismissShare(secretId: string, email: string): Promise<void>;
}

export interface TeamTable {
  find(groupId: string): Promise<Team | undefined>;
  /** Returns false, and changes nothing, when the name is taken. */
  insert(team: Team): Promise<boolean>;
  addMembers(groupId: string, emails: readonly string[]): Promise<void>;
  removeMembers(groupId: string, emails: readonly string[]): Promise<void>;
  /** Returns the teams a user is a member of, by name in code point order. */
  list(email: string): Promise<Team[]>;
  /** Removes a team with its grants. */
  remove(groupId: string): Promise<void>;
}
