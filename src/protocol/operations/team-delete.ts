import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { teamRequest } from "../schemas/request-fields.ts";

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
