import { z } from "zod";

/** A live session; the session itself is a cookie that no script can read. */
export const session = z.object({
  email: z.string(),
  csrf_token: z
    .string()
    .meta({ description: "Sent as header `x-csrf-token` with every request of the session." }),
});

export const signUpMode = z.enum(["open", "invited", "closed"]).meta({
  description:
    "open: anyone may sign up; invited: users whom a secret or a team is shared with; closed: none.",
});

export type SignUpMode = z.infer<typeof signUpMode>;

export const emailDelivery = z.enum(["smtp", "files"]).meta({
  description: "smtp: the server sends emails; files: it writes them to a directory.",
});

export type EmailDelivery = z.infer<typeof emailDelivery>;

export type SessionInfo = Readonly<z.infer<typeof session>>;
