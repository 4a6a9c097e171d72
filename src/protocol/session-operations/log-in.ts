import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { callerEmail } from "../schemas/request-fields.ts";
import { session } from "../schemas/session.ts";

export const logInOperation = defineOperation({
  name: "app_log_in",
  path: "/app/log_in",
  tag: "Web application",
  summary: "Log in",
  description: "Starts a session and sets its cookie; a session that the browser already had ends.",
  authentication: "none",
  request: () => z.object({ email: callerEmail, password: z.string().min(1).max(1024) }),
  response: z.object({ session }),
  errors: ["invalid_credentials", "rate_limited", "csrf_failed"],
  audit: { intent: "authenticated", fields: [] },
  example: {
    request: { email: sample.email, password: "a long password" },
    response: { session: sample.session },
  },
});
