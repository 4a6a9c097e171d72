import { z } from "zod";
import { isAtMost } from "./characters.ts";

/** C0, DEL and C1. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/u;

/**
 * What is wrong with a secret's, file's or team's name, or `undefined`. Lengths are counted in code points.
 * Source: the vault contract, "Transport" and "Fine print".
 */
export function nameFault(name: string, maxCharacters: number): string | undefined {
  if (name === "") return "must not be empty";
  if (CONTROL.test(name)) return "must not hold a control character";
  if (!name.isWellFormed()) return "must be well-formed Unicode";
  if (!isAtMost(name, maxCharacters)) return `must be at most ${maxCharacters} characters`;
  return undefined;
}

export function nameSchema(maxCharacters: number): z.ZodType<string> {
  return z
    .string()
    .superRefine((name, context) => {
      const fault = nameFault(name, maxCharacters);
      if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
    })
    .meta({
      minLength: 1,
      maxLength: maxCharacters,
      pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
      description: "Well-formed Unicode without control characters; kept as sent.",
    });
}
