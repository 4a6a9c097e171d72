import type { TeamRecord } from "../../../protocol/responses.ts";
import { isTeamRecord } from "./responses.ts";
import { listOf, shape } from "./shape.ts";
import type { VaultClient } from "./vault-client.ts";
import { isObject } from "../../../lib/is-object.ts";

const teamList = shape<{ teams: readonly TeamRecord[] }>({ teams: listOf(isTeamRecord) });

/** Returns the teams of the user. */
export async function listTeams(client: VaultClient): Promise<readonly TeamRecord[]> {
  return (await client.list("team_list", teamList)).teams;
}

/**
 * Creates a team. @throws RequestError `invitation_required` without `invite`, when a member has no
 * account or is not logged in; `team_exists`
 */
export async function createTeam(
  client: VaultClient,
  name: string,
  members: readonly string[],
  invite: boolean,
): Promise<void> {
  await client.call("team_create", { group_id: name, members, invite }, isObject);
}

/** Adds members to an own team. @throws RequestError `invitation_required` as `createTeam` */
export async function addMembers(
  client: VaultClient,
  name: string,
  members: readonly string[],
  invite: boolean,
): Promise<void> {
  await client.call("team_add_members", { group_id: name, members, invite }, isObject);
}

export async function removeMember(
  client: VaultClient,
  name: string,
  member: string,
): Promise<void> {
  await client.call("team_remove_members", { group_id: name, members: [member] }, isObject);
}

/** Removes the user from a team. */
export async function leaveTeam(client: VaultClient, name: string): Promise<void> {
  await client.call("team_leave", { group_id: name }, isObject);
}

export async function deleteTeam(client: VaultClient, name: string): Promise<void> {
  await client.call("team_delete", { group_id: name }, isObject);
}
