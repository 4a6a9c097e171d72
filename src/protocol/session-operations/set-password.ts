import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { newPassword } from "../schemas/new-password.ts";
import { session } from "../schemas/session.ts";

export const setPasswordOperation = defineOperation({
  name: "app_set_password",
  path: "/app/set_password",
  tag: "Web application",
  summary: "Set a password",
  description:
    "Creates the account or replaces its password, which ends all its sessions and tokens, and starts a session. All other " +
    "password emails of the address become invalid. A replaced password is reported by email.",
  authentication: "none",
  request: () =>
    z.object({
      token: z.string().min(1).max(1024).meta({ description: "From the link in the email." }),
      password: newPassword,
    }),
  response: z.object({ session }),
  errors: ["invalid_confirmation", "rate_limited", "csrf_failed"],
  audit: { intent: "authenticated", fields: [] },
  example: {
    request: { token: sample.confirmation, password: "a long password" },
    response: { session: sample.session },
  },
});
