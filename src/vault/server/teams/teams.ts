import { randomUUID } from "node:crypto";
import type { TeamRecord } from "../../../protocol/responses.ts";
import { requireUnlimited } from "../access/permission.ts";
import { type Caller, writeAs } from "../accounts/authenticate.ts";
import { partyOf } from "../store/credential.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import type { Team } from "../store/records.ts";
import { withinUnaccepted } from "../protection/within-unaccepted.ts";
import type { Transaction } from "../store/store.ts";
import type { AskedAddresses } from "../protection/asked-addresses.ts";
import { absentOf, requireActive, type AskedUsers } from "../accounts/require-active.ts";
import { nestedJsonList, type NestedItem } from "../http/json-stream.ts";
import type { Membership } from "../store/tables/sharing-tables.ts";

function teamRecord({ groupId, creator, members }: Team): TeamRecord {
  return { group_id: groupId, creator, members };
}

/**
 * Returns a team the caller is a member of. Other teams are as unknown to the caller as missing
 * ones, and so are teams of a blocked creator.
 * @throws ServiceError `team_not_found`
 */
export async function memberTeam(
  { teams, blockedSenders }: Transaction,
  caller: Caller,
  groupId: string,
): Promise<Team> {
  // A team of this name may have been put back by a writer of the database: its former members would
  // read what is shared with it. The caller is no member of that one.
  const team = await teams.find(groupId, caller.email);
  if (!team) throw errors.teamNotFound();
  if (await blockedSenders.has(caller.email, team.creator)) throw errors.teamNotFound();
  return team;
}

/**
 * Returns a team that the caller may change. @throws ServiceError `team_not_found`, `out_of_scope`,
 * `forbidden`
 */
async function changeableTeam(
  transaction: Transaction,
  caller: Caller,
  groupId: string,
): Promise<Team> {
  const team = await memberTeam(transaction, caller, groupId);
  requireUnlimited(caller.scope);
  if (team.creator !== caller.email) throw errors.teamCreatorOnly();
  return team;
}

/**
 * Requires that a team may have so many members, before the work for each of them. @throws
 * ServiceError `quota_exceeded`
 */
function requireFreeMembers({ limits: { quotas } }: VaultContext, members: number): void {
  if (members > quotas.members) throw errors.quotaExceeded("members", quotas.members);
}

/** Members of a new team, or new members of an existing one. */
export interface AddedMembers {
  readonly groupId: string;
  readonly members: readonly string[];
  /** False rejects the request when a member would be invited by a share with the team. */
  readonly invite: boolean;
}

/** @throws ServiceError `invitation_required` */
async function requireActiveMembers(
  { clock }: VaultContext,
  transaction: Transaction,
  caller: Caller,
  { named, users }: Pick<AskedUsers, "named" | "users">,
  asked: AskedAddresses,
): Promise<void> {
  const absent = await absentOf(transaction, caller, users, clock.now());
  await requireActive(transaction, caller, { path: "members", named, users, absent }, asked);
}

/**
 * Creates a team with the caller as its creator and a member. @throws ServiceError `out_of_scope`,
 * `team_exists`, `invitation_required`, `quota_exceeded`
 */
export async function createTeam(
  context: VaultContext,
  caller: Caller,
  { groupId, members, invite }: AddedMembers,
  asked: AskedAddresses,
): Promise<TeamRecord> {
  requireUnlimited(caller.scope);
  const all = [...new Set([caller.email, ...members])];
  requireFreeMembers(context, all.length);
  const { teams: most } = context.limits.quotas;
  return writeAs(context, caller, async (transaction) => {
    const team = {
      groupId,
      id: randomUUID(),
      creator: caller.email,
      members: all,
    };
    const created = await transaction.teams.insert(team);
    if (!created) throw errors.teamExists();
    if (!invite) {
      const users = { named: members, users: all };
      await requireActiveMembers(context, transaction, caller, users, asked);
    }
    if ((await transaction.teams.countOf(caller.email)) > most)
      throw errors.quotaExceeded("teams", most);
    return teamRecord(await memberTeam(transaction, caller, groupId));
  });
}

/**
 * Adds members; existing ones are ignored. @throws ServiceError `team_not_found`, `out_of_scope`,
 * `forbidden`, `invitation_required`, `quota_exceeded`
 */
export async function addMembers(
  context: VaultContext,
  caller: Caller,
  { groupId, members: emails, invite }: AddedMembers,
  asked: AskedAddresses,
): Promise<TeamRecord> {
  return writeAs(context, caller, async (transaction) => {
    const team = await changeableTeam(transaction, caller, groupId);
    const { members } = team;
    const known = new Set(members);
    const named = [...new Set(emails)];
    const added = named.filter((email) => !known.has(email));
    if (added.length > 0) requireFreeMembers(context, members.length + added.length);
    if (!invite) {
      const users = { named: emails, users: added };
      await requireActiveMembers(context, transaction, caller, users, asked);
    }
    await withinUnaccepted(context, transaction, added, () =>
      transaction.teams.addMembers(team, named),
    );
    return teamRecord(await memberTeam(transaction, caller, groupId));
  });
}

/**
 * Removes members; addresses that are not members are ignored.
 * @throws ServiceError `team_not_found`, `out_of_scope`, `forbidden`; `invalid_request` for the
 * creator
 */
export async function removeMembers(
  context: VaultContext,
  caller: Caller,
  groupId: string,
  emails: readonly string[],
): Promise<TeamRecord> {
  return writeAs(context, caller, async (transaction) => {
    const { creator } = await changeableTeam(transaction, caller, groupId);
    if (emails.includes(creator))
      throw errors.invalidRequest("members", "the creator stays a member: delete the team instead");
    await transaction.teams.removeMembers(groupId, emails);
    return teamRecord(await memberTeam(transaction, caller, groupId));
  });
}

/**
 * Removes the caller from a team. @throws ServiceError `team_not_found`, `out_of_scope`;
 * `invalid_request` for the creator
 */
export async function leaveTeam(
  context: VaultContext,
  caller: Caller,
  groupId: string,
): Promise<void> {
  await writeAs(context, caller, async (transaction) => {
    const { creator } = await memberTeam(transaction, caller, groupId);
    requireUnlimited(caller.scope);
    if (creator === caller.email) throw errors.teamCreatorStays();
    await transaction.teams.removeMembers(groupId, [caller.email]);
  });
}

/**
 * Deletes a team with its grants. @throws ServiceError `team_not_found`, `out_of_scope`,
 * `forbidden`
 */
export async function deleteTeam(
  context: VaultContext,
  caller: Caller,
  groupId: string,
): Promise<void> {
  await writeAs(context, caller, async (transaction) => {
    await changeableTeam(transaction, caller, groupId);
    await transaction.teams.remove(groupId);
  });
}

/** Members read in one transaction, unless one team has more. */
const PAGE_SIZE = 1000;

interface TeamsPage {
  readonly members: readonly Membership[];
  readonly isLast: boolean;
}

/** Reads whole teams, however many members they have: no page ends within one. */
async function pageAfter(
  { teams }: Transaction,
  { email }: Caller,
  after: string | undefined,
): Promise<TeamsPage> {
  for (let size = PAGE_SIZE; ; size *= 2) {
    const members = await teams.list(email, after, size + 1);
    if (members.length <= size) return { members, isLast: true };
    const last = members.at(-1)?.groupId;
    const whole = members.filter(({ groupId }) => groupId !== last);
    if (whole.length > 0) return { members: whole, isLast: false };
  }
}

function itemOf({ groupId, creator, member }: Membership): NestedItem {
  const fields: Omit<TeamRecord, "members"> = { group_id: groupId, creator };
  return { key: groupId, item: member, fields };
}

/** Yields the members of the teams the caller is a member of; each team in one page. */
export async function* memberPages(
  { store }: Pick<VaultContext, "store">,
  caller: Caller,
): AsyncGenerator<NestedItem[], void> {
  let page: TeamsPage = { members: [], isLast: false };
  while (!page.isLast) {
    const after = page.members.at(-1)?.groupId;
    page = await store.read(
      (transaction) => pageAfter(transaction, caller, after),
      partyOf(caller),
    );
    yield page.members.map(itemOf);
  }
}

/** Yields the teams the caller is a member of as JSON, by name in code point order. */
export function teamsAsJson(context: VaultContext, caller: Caller): AsyncGenerator<string, void> {
  return nestedJsonList("teams", "members", memberPages(context, caller));
}
