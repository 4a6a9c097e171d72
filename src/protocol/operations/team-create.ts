import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { teamRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { oneOrMore } from "../schemas/one-or-more.ts";
import { teamRequest, userEmail } from "../schemas/request-fields.ts";
import { newTeamName } from "../team-name.ts";

const team = { email: "$request.body#/email", group_id: "$response.body#/team/group_id" };

export const teamCreate = defineOperation({
  name: "team_create",
  path: "/v1/user/team/create",
  tag: "Teams",
  summary: "Create a team",
  description:
    "Names are unique on a server. The caller becomes the team's creator and a member; only the creator changes the team. Requires a token of unlimited scope.",
  authentication: "access-token",
  request: (limits) =>
    teamRequest(limits).extend({
      group_id: newTeamName(limits.nameCharacters),
      members: oneOrMore(userEmail, limits.entriesPerRequest, 0).default([]),
    }),
  response: z.object({ team: teamRecord }),
  addsData: true,
  errors: ["team_exists", "out_of_scope", "quota_exceeded"],
  audit: { intent: "authenticated", fields: ["group_id", "members"] },
  example: { request: sample.teamMembers, response: { team: sample.team } },
  links: [
    {
      operation: "team_add_members",
      description: "Add a member.",
      request: { ...team, members: sample.otherEmail },
    },
    {
      operation: "team_remove_members",
      description: "Remove a member.",
      request: { ...team, members: sample.otherEmail },
    },
    { operation: "team_delete", description: "Delete the team.", request: team },
  ],
});
