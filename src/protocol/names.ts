import { z } from "zod";

/** C0, DEL and C1. */
// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/u;

/** Reports whether a text contains a control character: no name may have one. */
export function hasControlCharacter(text: string): boolean {
  return CONTROL.test(text);
}

/** Reports whether a text has at most so many code points, the unit of JSON Schema lengths. */
function isAtMost(text: string, maxCharacters: number): boolean {
  return (
    text.length <= maxCharacters ||
    (text.length <= 2 * maxCharacters && Array.from(text).length <= maxCharacters)
  );
}

/**
 * Returns the problem with the name of a secret, file or team, or `undefined`. Lengths are counted
 * in code points (docs/design/vault-contract.md#limits).
 */
export function nameProblem(name: string, maxCharacters: number): string | undefined {
  if (name === "") return "must not be empty";
  if (hasControlCharacter(name)) return "must not contain a control character";
  if (!name.isWellFormed()) return "must be well-formed Unicode";
  if (!isAtMost(name, maxCharacters)) return `must be at most ${maxCharacters} characters`;
  return undefined;
}

/** Returns the problem with the name of a file, or `undefined`: a path is none. */
export function filenameProblem(name: string, maxCharacters: number): string | undefined {
  const isFile = !/^\.{1,2}$|[/\\]/u.test(name);
  return nameProblem(name, maxCharacters) ?? (isFile ? undefined : "must be a file name");
}

/** Returns the schema of a name of 1 to `maxCharacters` code points. */
export function nameSchema(maxCharacters: number): z.ZodType<string, string> {
  return z
    .string()
    .superRefine((name, context) => {
      const problem = nameProblem(name, maxCharacters);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .meta({
      minLength: 1,
      maxLength: maxCharacters,
      pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
      description: "Well-formed Unicode without control characters, stored unchanged.",
    });
}

/** Returns the schema of a text of 1 to `maxCharacters` code points. */
export function characters(maxCharacters: number): z.ZodType<string, string> {
  return z
    .string()
    .min(1)
    .refine((text) => isAtMost(text, maxCharacters), `must be at most ${maxCharacters} characters`)
    .meta({ maxLength: maxCharacters });
}
