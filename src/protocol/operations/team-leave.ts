import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { teamRequest } from "../schemas/request-fields.ts";

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
