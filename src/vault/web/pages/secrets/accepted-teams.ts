import type { TeamRecord } from "../../../../protocol/responses.ts";
import { digestOf, keepDigests, keptDigests } from "../../parts/kept-digests.ts";

/** Teams of other users with which this browser may share without a question. */
const PREFIX = "vaultsync-teams-";

const nameOf = (email: string): string => PREFIX + digestOf(email);
const teamOf = ({ group_id: name, creator }: TeamRecord): string => digestOf(`${creator} ${name}`);

/** Returns the names of the user's teams and of those that the user has accepted. */
export function acceptedTeams(email: string, teams: readonly TeamRecord[]): ReadonlySet<string> {
  const accepted = keptDigests(nameOf(email));
  return new Set(
    teams
      .filter((team) => team.creator === email || accepted?.has(teamOf(team)) === true)
      .map(({ group_id: name }) => name),
  );
}

/** Keeps whether the user has accepted a team of another user. */
export function acceptTeam(email: string, team: TeamRecord, accepts: boolean): void {
  const accepted = new Set(keptDigests(nameOf(email)));
  if (accepts) accepted.add(teamOf(team));
  else accepted.delete(teamOf(team));
  keepDigests(nameOf(email), accepted);
}
