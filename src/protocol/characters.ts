import { z } from "zod";

/** Whether a text has at most so many code points: what JSON Schema counts, and what a person would. */
export function isAtMost(text: string, maxCharacters: number): boolean {
  return text.length <= maxCharacters || (text.length <= 2 * maxCharacters && Array.from(text).length <= maxCharacters);
}

/** Text of 1 to `maxCharacters` code points. */
export function characters(maxCharacters: number): z.ZodType<string> {
  return z
    .string()
    .min(1)
    .refine((text) => isAtMost(text, maxCharacters), `must be at most ${maxCharacters} characters`)
    .meta({ maxLength: maxCharacters });
}
