import { z } from "zod";
import { scopeAttributes } from "../scope.ts";

/**
 * One ASCII octet or one whole UTF-8 sequence in percent-encoding; H is a hexadecimal digit, T a
 * trailing octet.
 */
const ESCAPE =
  "%[0-7]H|%([Cc][2-9A-Fa-f]|[Dd]H)T|%[Ee](0%[ABab]H|[1-9ABCEFabcef]T|[Dd]%[89]H)T|%[Ff](0%[9ABab]H|[1-3]T|4%8H)TT"
    .replaceAll("T", "%[89ABab]H")
    .replaceAll("H", "[0-9A-Fa-f]");

/**
 * A pair of a scope string. U+FEFF is excluded because only some pattern dialects count it as white
 * space.
 */
const PAIR = `(${scopeAttributes.join("|")}):([^,%\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f]|${ESCAPE})+`;

/**
 * Maximum size of a scope string in UTF-8, and maximum number of its pairs
 * (docs/design/vault-contract.md#limits).
 */
export const MAX_SCOPE_BYTES = 8192;
const MAX_PAIRS = 200;

function isShort(text: string): boolean {
  return text.length <= MAX_SCOPE_BYTES && new TextEncoder().encode(text).length <= MAX_SCOPE_BYTES;
}

/**
 * A scope string as text; `parseScope` checks it. The pattern describes what `parseScope` accepts.
 */
export const scopeString = z
  .string()
  .refine(isShort, `must be at most ${MAX_SCOPE_BYTES} bytes of UTF-8`)
  .refine(
    (text) => text.split(",", MAX_PAIRS + 1).length <= MAX_PAIRS,
    `must have at most ${MAX_PAIRS} pairs`,
  )
  .meta({
    maxLength: MAX_SCOPE_BYTES,
    pattern: `^${PAIR}(,${PAIR}){0,${MAX_PAIRS - 1}}$`,
    allOf: scopeAttributes.map((attribute) => ({ pattern: `(^|,)${attribute}:` })),
    description:
      "Pairs attribute:value, comma-separated, each of the five attributes at least once, at most 200; * and all mean every value. Commas, spaces and percent signs in a value are percent-encoded.",
  });
