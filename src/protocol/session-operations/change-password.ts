import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { newPassword } from "../schemas/new-password.ts";
import { session } from "../schemas/session.ts";

export const changePasswordOperation = defineOperation({
  name: "app_change_password",
  path: "/app/change_password",
  tag: "Web application",
  summary: "Change the password",
  description:
    "Requires the current password in addition to the session. Ends all sessions and tokens of the account, starts a session and reports " +
    "the change by email.",
  authentication: "session",
  request: () => z.object({ password: z.string().min(1).max(1024), new_password: newPassword }),
  response: z.object({ session }),
  errors: ["invalid_token", "invalid_credentials", "rate_limited", "csrf_failed"],
  audit: { intent: "authenticated", fields: [] },
  example: {
    request: { password: "a long password", new_password: "another long password" },
    response: { session: sample.session },
  },
});
