import { z } from "zod";
import { nameProblem } from "./names.ts";

/**
 * Characters that take no place, such as directions of text, joiners and fillers, and those that
 * look like a space and stay another one in NFKC: an Ogham space, the empty Braille pattern, a
 * musical symbol without a head.
 */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u1680\u2800\u{1D159}]/u;

/**
 * Scripts whose characters look like characters of another one of them. Words mix other scripts:
 * Japanese ones have up to four.
 */
const ALPHABETS = ["Latin", "Greek", "Cyrillic", "Armenian", "Coptic", "Cherokee", "Lisu"].map(
  (name) => ({ name, pattern: new RegExp(`\\p{Script=${name}}`, "u") }),
);

/** Returns the alphabets of the first word that mixes them; none without such a word. */
function mixedAlphabets(name: string): string[] {
  const words = name.split(/[^\p{L}\p{M}\p{N}]+/u);
  const alphabets = words.map((word) => ALPHABETS.filter(({ pattern }) => pattern.test(word)));
  return (alphabets.find(({ length }) => length > 1) ?? []).map((alphabet) => alphabet.name);
}

/** An @ always means a user, in every form of it that Unicode knows: `＠` and `﹫` look the same. */
function hasAt(name: string): boolean {
  return name.normalize("NFKC").includes("@");
}

/**
 * Returns the problem with the name of a new team, or `undefined`: it must not pass for an address,
 * or for the name of another team.
 */
function teamNameProblem(name: string, maxCharacters: number): string | undefined {
  const problem = nameProblem(name, maxCharacters);
  if (problem !== undefined) return problem;
  if (hasAt(name)) return "must not contain @";
  if (INVISIBLE.test(name)) return "must not contain an invisible character";
  if (name !== name.trim() || /\s\s/u.test(name))
    return "must not start or end with a space, or contain two in a row";
  if (name !== name.normalize("NFKC")) return "must be in the Unicode normal form NFKC";
  const alphabets = mixedAlphabets(name);
  return alphabets.length > 0
    ? `must not mix ${alphabets.join(" and ")} characters in a word`
    : undefined;
}

const shape = (maxCharacters: number) => ({
  minLength: 1,
  maxLength: maxCharacters,
  pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f@]*$",
});

/** Returns the schema of the name of a new team. */
export function newTeamName(maxCharacters: number): z.ZodType<string> {
  return z
    .string()
    .superRefine((name, context) => {
      const problem = teamNameProblem(name, maxCharacters);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .meta({
      ...shape(maxCharacters),
      description:
        "Well-formed Unicode in the normal form NFKC without control characters, invisible characters, @ and words of mixed alphabets, and without spaces at its ends or in a row.",
    });
}

/** Returns the schema of the name of a team that receives a share: never an address. */
export function receivingTeam(maxCharacters: number): z.ZodType<string> {
  return z
    .string()
    .superRefine((name, context) => {
      const problem =
        nameProblem(name, maxCharacters) ??
        (hasAt(name) ? "must not contain @: send an address as usr_id_to" : undefined);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .meta({ ...shape(maxCharacters), description: "Name of a team. An address is never one." });
}
