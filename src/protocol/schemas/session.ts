import { z } from "zod";

/** A live session; the session itself is a cookie that no script can read. */
export const session = z.object({
  email: z.string(),
  csrf_token: z.string().meta({ description: "Sent as header `x-csrf-token` with every request of the session." }),
});

export type SessionInfo = Readonly<z.infer<typeof session>>;
