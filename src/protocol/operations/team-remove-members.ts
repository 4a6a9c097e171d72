import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { teamRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { oneOrMore } from "../schemas/one-or-more.ts";
import { teamRequest, userEmail } from "../schemas/request-fields.ts";

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
