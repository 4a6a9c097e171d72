import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { session } from "../schemas/session.ts";

/** Characters of a new password: shorter ones are too easily guessed, longer ones add nothing. */
const passwordLength = { min: 12, max: 1024 } as const;

export const setPasswordOperation = defineOperation({
  name: "app_set_password",
  path: "/app/set_password",
  tag: "Web application",
  summary: "Set a password",
  description:
    "Creates the account or replaces its password, which ends all its sessions and tokens, and starts a session. All other " +
    "password emails of the address become invalid.",
  authentication: "none",
  request: () =>
    z.object({
      token: z.string().min(1).max(1024).meta({ description: "From the link in the email." }),
      password: z
        .string()
        .min(passwordLength.min)
        .max(passwordLength.max)
        .refine((text) => text.isWellFormed(), "must be well-formed Unicode"),
    }),
  response: z.object({ session }),
  errors: ["invalid_confirmation", "rate_limited", "csrf_failed"],
  audit: { intent: "authenticated", fields: [] },
  example: {
    request: { token: "Hh5Wd0pQm2Xr7Yc9Ez4Tb6Nv1Lk3Js8Fg-aUiOqPeRt", password: "a long password" },
    response: { session: sample.session },
  },
});
