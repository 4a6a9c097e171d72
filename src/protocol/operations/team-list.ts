import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { teamRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { callerRequest } from "../schemas/request-fields.ts";

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
