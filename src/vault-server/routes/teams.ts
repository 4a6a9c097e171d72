import type { FastifyInstance } from "fastify";
import { listRequest, teamRequests } from "../../protocol/requests.ts";
import type { VaultContext } from "../context.ts";
import { sendList } from "../http/etag.ts";
import { authenticatedOperation } from "./operation.ts";
import { addMembers, createTeam, deleteTeam, listTeams, removeMembers } from "../teams/teams.ts";

/** Teams. Source: the vault contract, "Sharing, teams, people". */
export function teamRoutes(app: FastifyInstance, context: VaultContext): void {
  const requests = teamRequests(context.limits);

  authenticatedOperation(app, context, "team_create", requests.create, async ({ body, caller }) => ({
    team: await createTeam(context, caller, body.group_id, body.members),
  }));

  authenticatedOperation(app, context, "team_add_members", requests.members, async ({ body, caller }) => ({
    team: await addMembers(context, caller, body.group_id, body.members),
  }));

  authenticatedOperation(app, context, "team_remove_members", requests.members, async ({ body, caller }) => ({
    team: await removeMembers(context, caller, body.group_id, body.members),
  }));

  authenticatedOperation(app, context, "team_list", listRequest, async ({ caller, request, reply }) =>
    sendList(request, reply, { teams: await listTeams(context, caller) }),
  );

  authenticatedOperation(app, context, "team_delete", requests.team, async ({ body, caller }) => {
    await deleteTeam(context, caller, body.group_id);
    return { deleted: { group_id: body.group_id } };
  });
}
