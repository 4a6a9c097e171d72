import { z } from "zod";
import type { AuditFields } from "./audit-line.ts";

const version = z.int();
const secret = z.object({ key_version: version, owner: z.string() });

/** The answers that say which version of what they are about. */
const answers = z.union([
  z.object({ secret }).transform((answer) => answer.secret),
  secret,
  z
    .object({ files: z.array(z.object({ filename: z.string(), version })) })
    .transform(({ files }) => ({ versions: files.map((file) => file.version) })),
]);

/** What an answer adds to what its request said: which version it was, and whose. */
export function resultOf(answer: unknown): AuditFields {
  const known = answers.safeParse(answer);
  return known.success ? { result: known.data } : {};
}
