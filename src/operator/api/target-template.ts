import { z } from "zod";
import { isObjectKey, MAX_KEY_LENGTH, OBJECT_KEY_PATTERN } from "./fields.ts";
import { withRule } from "./validation.ts";

/** Maximum number of keys that templates make up, and of characters in the template of one. */
const MAX_KEYS = 64;
const MAX_LENGTH = 16_384;

const keys = z
  .record(z.string(), z.string().max(MAX_LENGTH))
  .refine(
    (templates) => Object.keys(templates).length <= MAX_KEYS,
    `must have at most ${MAX_KEYS} entries`,
  )
  .meta({ maxProperties: MAX_KEYS });

const someKeys = withRule(keys, {
  cel: "size(self) > 0",
  message:
    'must have at least one entry, for example url: "postgres://{{ user }}:{{ password | urlencode }}@db/shop"',
  check: (templates) => Object.keys(templates).length > 0,
});

/** The API server rejects the name `__proto__` because zod ignores it. */
const validKeys = withRule(someKeys, {
  cel: `self.all(k, size(k) <= ${MAX_KEY_LENGTH} && k.matches('${OBJECT_KEY_PATTERN}') && k != '__proto__')`,
  message:
    "the names must be keys of letters, digits, '-', '_' and '.', and must not be '.', '__proto__' or start with '..'",
  check: (templates) => Object.keys(templates).every(isObjectKey),
});

/** `target.template`: the content of the target, made of the values of the sources. */
export const targetTemplate = z
  .object({
    data: validKeys.describe(
      "Template of each key of the target, for example postgres://{{ user }}:{{ password | urlencode }}@db/shop. " +
        "See docs/resources.md#templates for the syntax and the functions.",
    ),
  })
  .optional()
  .describe(
    "Templates that make the content of the target. It has the keys of the template only; the keys of the sources are the names of variables. " +
      "Defaults to none.",
  );
