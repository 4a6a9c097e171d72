import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";

export const confirmationOperation = defineOperation({
  name: "app_confirmation",
  path: "/app/confirmation",
  tag: "Web application",
  summary: "Read whose password a link sets",
  description:
    "Returns the address that the link in an email was sent to, so that a user does not set the password of an account that another one " +
    "requested the link for.",
  authentication: "none",
  request: () =>
    z.object({
      token: z.string().min(1).max(1024).meta({ description: "From the link in the email." }),
    }),
  response: z.object({
    email: z.string(),
    invited_by: z.array(z.string()).meta({
      description: "Users who share with the address or added it to a team, at most five.",
    }),
  }),
  errors: ["invalid_confirmation", "csrf_failed"],
  audit: { intent: "never", fields: [] },
  example: {
    request: { token: sample.confirmation },
    response: { email: sample.email, invited_by: [sample.otherEmail] },
  },
});
