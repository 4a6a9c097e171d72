import type { TeamRecord } from "../../protocol/responses.ts";
import { isUnlimited, type Scope } from "../../protocol/scope.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import type { Team } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";

function teamRecord({ groupId, creator, members }: Team): TeamRecord {
  return { group_id: groupId, creator, members };
}

/**
 * Returns a team the caller is a member of. Other teams are as unknown to the caller as missing ones.
 * @throws ServiceError `team_not_found`
 */
export async function memberTeam({ teams }: Transaction, caller: Caller, groupId: string): Promise<Team> {
  const team = await teams.find(groupId);
  if (team?.members.includes(caller.email) !== true) throw errors.teamNotFound();
  return team;
}

/**
 * Requires a scope that admits every secret, because a new member of a team reaches secrets of any scope.
 * @throws ServiceError `out_of_scope`
 */
function requireUnlimited(scope: Scope): void {
  if (!isUnlimited(scope)) throw errors.limitedScope();
}

/** Returns a team that the caller may change. @throws ServiceError `team_not_found`, `out_of_scope`, `forbidden` */
async function changeableTeam(transaction: Transaction, caller: Caller, groupId: string): Promise<Team> {
  const team = await memberTeam(transaction, caller, groupId);
  requireUnlimited(caller.scope);
  if (team.creator !== caller.email) throw errors.teamCreatorOnly();
  return team;
}

/** Creates a team with the caller as its creator and a member. @throws ServiceError `out_of_scope`, `team_exists` */
export async function createTeam(
  { store }: VaultContext,
  caller: Caller,
  groupId: string,
  members: readonly string[],
): Promise<TeamRecord> {
  requireUnlimited(caller.scope);
  return store.write(async (transaction) => {
    const created = await transaction.teams.insert({ groupId, creator: caller.email, members: [caller.email, ...members] });
    if (!created) throw errors.teamExists();
    return teamRecord(await memberTeam(transaction, caller, groupId));
  });
}

type ChangeMembers = (context: VaultContext, caller: Caller, groupId: string, emails: readonly string[]) => Promise<TeamRecord>;

/** Returns an operation that changes the members of a team the caller created. */
function changeMembers(
  change: (teams: Transaction["teams"], team: Team, emails: readonly string[]) => Promise<void>,
): ChangeMembers {
  return ({ store }, caller, groupId, emails) =>
    store.write(async (transaction) => {
      await change(transaction.teams, await changeableTeam(transaction, caller, groupId), emails);
      return teamRecord(await memberTeam(transaction, caller, groupId));
    });
}

/** Adds members; existing ones are ignored. @throws ServiceError `team_not_found`, `out_of_scope`, `forbidden` */
export const addMembers = changeMembers((teams, { groupId }, emails) => teams.addMembers(groupId, emails));

/**
 * Removes members; addresses that are not members are ignored.
 * @throws ServiceError `team_not_found`, `out_of_scope`, `forbidden`; `invalid_request` for the creator
 */
export const removeMembers = changeMembers(async (teams, { groupId, creator }, emails) => {
  if (emails.includes(creator)) throw errors.invalidRequest("members", "the creator stays a member: delete the team instead");
  await teams.removeMembers(groupId, emails);
});

/** Removes the caller from a team. @throws ServiceError `team_not_found`, `out_of_scope`; `invalid_request` for the creator */
export async function leaveTeam({ store }: VaultContext, caller: Caller, groupId: string): Promise<void> {
  await store.write(async (transaction) => {
    const { creator } = await memberTeam(transaction, caller, groupId);
    requireUnlimited(caller.scope);
    if (creator === caller.email) throw errors.invalidRequest("group_id", "the creator stays a member: delete the team instead");
    await transaction.teams.removeMembers(groupId, [caller.email]);
  });
}

/** Lists the teams the caller is a member of, by name in code point order. */
export async function listTeams({ store }: VaultContext, caller: Caller): Promise<TeamRecord[]> {
  return (await store.read(({ teams }) => teams.list(caller.email))).map(teamRecord);
}

/** Deletes a team with its grants. @throws ServiceError `team_not_found`, `out_of_scope`, `forbidden` */
export async function deleteTeam({ store }: VaultContext, caller: Caller, groupId: string): Promise<void> {
  await store.write(async (transaction) => {
    await changeableTeam(transaction, caller, groupId);
    await transaction.teams.remove(groupId);
  });
}
