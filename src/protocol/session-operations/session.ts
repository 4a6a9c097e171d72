import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { session, signUpMode } from "../schemas/session.ts";

export const sessionOperation = defineOperation({
  name: "app_session",
  path: "/app/session",
  tag: "Web application",
  summary: "Read the current session",
  description: "The session is null when the cookie is missing or its session has ended.",
  authentication: "none",
  request: () => z.object({}),
  response: z.object({ session: session.nullable(), sign_up: signUpMode }),
  errors: ["csrf_failed"],
  audit: { intent: "never", fields: [] },
  example: { request: {}, response: { session: sample.session, sign_up: "open" } },
});
