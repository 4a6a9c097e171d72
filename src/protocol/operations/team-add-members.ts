import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { teamRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { oneOrMore } from "../schemas/one-or-more.ts";
import { teamRequest, userEmail } from "../schemas/request-fields.ts";

export const teamAddMembers = defineOperation({
  name: "team_add_members",
  path: "/v1/user/team/add_members",
  tag: "Teams",
  summary: "Add members to a team",
  description:
    "Addresses may or may not have an account. New members see what is shared with the team. Only the creator may do it, with a token of unlimited scope.",
  authentication: "access-token",
  request: (limits) =>
    teamRequest(limits).extend({ members: oneOrMore(userEmail, limits.entriesPerRequest) }),
  response: z.object({ team: teamRecord }),
  addsData: true,
  errors: ["team_not_found", "out_of_scope", "forbidden", "quota_exceeded"],
  audit: { intent: "authenticated", fields: ["group_id", "members"] },
  example: { request: sample.teamMembers, response: { team: sample.team } },
});
