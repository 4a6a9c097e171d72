import { z } from "zod";

/** Reports whether a text has at most so many code points, the unit of JSON Schema lengths. */
export function isAtMost(text: string, maxCharacters: number): boolean {
  return (
    text.length <= maxCharacters ||
    (text.length <= 2 * maxCharacters && Array.from(text).length <= maxCharacters)
  );
}

/** Returns the schema of a text of 1 to `maxCharacters` code points. */
export function characters(maxCharacters: number): z.ZodType<string, string> {
  return z
    .string()
    .min(1)
    .refine((text) => isAtMost(text, maxCharacters), `must be at most ${maxCharacters} characters`)
    .meta({ maxLength: maxCharacters });
}
