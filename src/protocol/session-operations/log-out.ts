import { z } from "zod";
import { defineOperation } from "../define-operation.ts";

export const logOutOperation = defineOperation({
  name: "app_log_out",
  path: "/app/log_out",
  tag: "Web application",
  summary: "Log out",
  description:
    "Ends the session and deletes its cookie; succeeds also when the session has already ended.",
  authentication: "session",
  request: () => z.object({}),
  response: z.object({}),
  errors: ["csrf_failed"],
  audit: { intent: "authenticated", fields: [] },
  example: { request: {}, response: {} },
});
