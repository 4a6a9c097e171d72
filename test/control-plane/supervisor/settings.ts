import { z } from "zod";

/** What a supervisor is told, as JSON in its only argument. Nothing in it is secret. */
export const Settings = z.object({
  provision: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("binaries"), directory: z.string() }),
    z.object({ kind: z.literal("k3s"), image: z.string(), kubectl: z.string() }),
  ]),
  /** How long the search for `provision` took. */
  binariesMs: z.number(),
  /** Users without any group beside `system:authenticated`. */
  users: z.array(z.string()),
});
export type Settings = z.infer<typeof Settings>;

/** What a supervisor says, one JSON object a line on its standard output. */
export const Message = z.discriminatedUnion("event", [
  z.object({ event: z.literal("note"), line: z.string() }),
  z.object({ event: z.literal("ready"), directory: z.string() }),
  z.object({ event: z.literal("failed"), message: z.string() }),
]);
export type Message = z.infer<typeof Message>;
