import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { canonicalEmail, isPlainEmailAddress } from "../email-address.ts";
import { sample } from "../sample-values.ts";

export const requestPasswordOperation = defineOperation({
  name: "app_request_password",
  path: "/app/request_password",
  tag: "Web application",
  summary: "Request an email for setting a password",
  description:
    "Responds the same whether or not the address has an account. At most one email a minute per recipient and 20 in 15 minutes " +
    "per client.",
  authentication: "none",
  request: () =>
    z.object({
      email: z
        .string()
        .refine(isPlainEmailAddress, "expected an email address, without quotation marks")
        .transform(canonicalEmail),
    }),
  response: z.object({}),
  errors: ["rate_limited", "csrf_failed"],
  audit: { intent: "authenticated", fields: [] },
  example: { request: { email: sample.email }, response: {} },
});
