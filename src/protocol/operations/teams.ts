import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { teamRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { teamRequest, userEmail, callerRequest, oneOrMore } from "../schemas/request-fields.ts";
import { newTeamName } from "../team-name.ts";

const invite = z.boolean().optional().meta({
  description:
    "False changes nothing and returns `invitation_required` when a share with the team would invite a new member, or may do so.",
});

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
      invite,
    }),
  response: z.object({ team: teamRecord }),
  addsData: true,
  errors: ["team_exists", "invitation_required", "out_of_scope", "quota_exceeded"],
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

export const teamAddMembers = defineOperation({
  name: "team_add_members",
  path: "/v1/user/team/add_members",
  tag: "Teams",
  summary: "Add members to a team",
  description:
    "Addresses may or may not have an account. New members see what is shared with the team. Only the creator may do it, with a token of unlimited scope.",
  authentication: "access-token",
  request: (limits) =>
    teamRequest(limits).extend({
      members: oneOrMore(userEmail, limits.entriesPerRequest),
      invite,
    }),
  response: z.object({ team: teamRecord }),
  addsData: true,
  errors: ["team_not_found", "invitation_required", "out_of_scope", "forbidden", "quota_exceeded"],
  audit: { intent: "authenticated", fields: ["group_id", "members"] },
  example: { request: sample.teamMembers, response: { team: sample.team } },
});

export const teamRemoveMembers = defineOperation({
  name: "team_remove_members",
  path: "/v1/user/team/remove_members",
  tag: "Teams",
  summary: "Remove members from a team",
  description:
    "Former members no longer see what is shared with the team. The creator cannot be removed. Only the creator may do it, with a token of unlimited scope.",
  authentication: "access-token",
  request: (limits) =>
    teamRequest(limits).extend({ members: oneOrMore(userEmail, limits.entriesPerRequest) }),
  response: z.object({ team: teamRecord }),
  errors: ["team_not_found", "out_of_scope", "forbidden"],
  audit: { intent: "authenticated", fields: ["group_id", "members"] },
  example: {
    request: sample.teamMembers,
    response: { team: { ...sample.team, members: [sample.email] } },
  },
});

export const teamList = defineOperation({
  name: "team_list",
  path: "/v1/user/team/list",
  tag: "Teams",
  summary: "List the caller's teams",
  description: "Returns the teams that the caller is a member of, by name.",
  authentication: "access-token",
  request: callerRequest,
  response: z.object({ teams: z.array(teamRecord) }),
  etag: true,
  compressible: true,
  errors: [],
  audit: { intent: "never", fields: [] },
  example: { request: { email: sample.email }, response: { teams: [sample.team] } },
});

export const teamLeave = defineOperation({
  name: "team_leave",
  path: "/v1/user/team/leave",
  tag: "Teams",
  summary: "Leave a team",
  description:
    "Removes the caller from the team, whose secrets they lose. The creator stays a member. Requires a token of unlimited scope.",
  authentication: "access-token",
  request: teamRequest,
  response: z.object({ left: z.object({ group_id: z.string() }) }),
  errors: ["team_not_found", "out_of_scope", "forbidden"],
  audit: { intent: "authenticated", fields: ["group_id"] },
  example: {
    request: { email: sample.otherEmail, group_id: sample.team.group_id },
    response: { left: { group_id: sample.team.group_id } },
  },
});

export const teamDelete = defineOperation({
  name: "team_delete",
  path: "/v1/user/team/delete",
  tag: "Teams",
  summary: "Delete a team",
  description:
    "Revokes all shares with the team. Only the creator may do it, with a token of unlimited scope.",
  authentication: "access-token",
  request: teamRequest,
  response: z.object({ deleted: z.object({ group_id: z.string() }) }),
  errors: ["team_not_found", "out_of_scope", "forbidden"],
  audit: { intent: "authenticated", fields: ["group_id"] },
  example: {
    request: { email: sample.email, group_id: sample.team.group_id },
    response: { deleted: { group_id: sample.team.group_id } },
  },
});
