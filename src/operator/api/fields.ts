import { z } from "zod";
import { LinearRegExp, linearRegExp, RegExpProblem, replacementOf } from "../lib/linear-regexp.ts";
import { DURATION_PATTERN, LONG_DURATION_PATTERN, parseDuration } from "../lib/duration.ts";
import { withRule } from "./validation.ts";

const DNS_NAME = /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/;
/**
 * Letters, digits, '-', '_' and '.', but neither '.' nor a leading '..': such a key could point
 * outside the directory of a volume.
 */
export const OBJECT_KEY_PATTERN = "^[.]?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$";
export const MAX_KEY_LENGTH = 253;

/** Returns the schema of the name of another object of this kind, in the same namespace. */
export function objectName(kind: string): z.ZodString {
  return withRule(z.string().min(1).max(253), {
    cel: "self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",
    message: `must be the name of one ${kind}: lower-case letters, digits, '-' and '.', for example my-${kind.toLowerCase()}`,
    check: (name) => DNS_NAME.test(name),
  });
}

/** A key of a Secret or ConfigMap. */
export const objectKey: z.ZodString = withRule(z.string().min(1).max(MAX_KEY_LENGTH), {
  cel: `self.matches('${OBJECT_KEY_PATTERN}')`,
  message:
    "must consist of letters, digits, '-', '_' and '.', and must not be '.' or start with '..', for example tls.crt",
  check: (key) => new RegExp(OBJECT_KEY_PATTERN).test(key),
});

/** Reports whether `name` is a valid key of a Secret or ConfigMap. */
export const isObjectKey = (name: string): boolean => objectKey.safeParse(name).success;

const MAX_NAME_CHARACTERS = 256;

/** C0, DEL and C1. */
const CONTROL = "[\\x00-\\x1f\\x7f-\\x9f]";

/**
 * The name of a secret or file in the vault: 1 to 256 characters without control characters. The
 * vault and the API server count code points, while the `max` of zod counts UTF-16 code units.
 */
export const vaultName: z.ZodString = withRule(
  z
    .string()
    .min(1)
    .refine(
      (name) => Array.from(name).length <= MAX_NAME_CHARACTERS,
      `must have at most ${MAX_NAME_CHARACTERS} characters`,
    )
    .meta({ maxLength: MAX_NAME_CHARACTERS }),
  {
    cel: `!self.matches('${CONTROL.replaceAll("\\", "\\\\")}')`,
    message: "must not contain control characters such as line breaks",
    check: (name) => !new RegExp(CONTROL, "u").test(name),
  },
);

/** Maximum duration that the API server can parse, in milliseconds: 2⁶³ - 1 ns. */
const MAX_DURATION_MS = 9_223_372_036_854;

/** Returns the schema of a duration with a lower bound, such as `90s` or `1h30m`. */
export function duration(minimum: string): z.ZodString {
  return withRule(z.string().max(32), {
    cel: `self.matches('${DURATION_PATTERN.replaceAll("\\", "\\\\")}') && duration(self) >= duration('${minimum}')`,
    message: `must be a duration of at least ${minimum}, for example 90s, 5m or 1h30m`,
    check: (text) => {
      const ms = new RegExp(DURATION_PATTERN).test(text) ? parseDuration(text) : 0;
      return ms >= parseDuration(minimum) && ms <= MAX_DURATION_MS;
    },
  });
}

/** Returns the schema of a long time, such as `90m`, `36h` or `7d`. */
export const longDuration = (): z.ZodString =>
  withRule(z.string().max(8), {
    cel: `self.matches('${LONG_DURATION_PATTERN}')`,
    message: "must be a number of minutes, hours or days, for example 90m, 36h or 7d",
    check: (text) => new RegExp(LONG_DURATION_PATTERN).test(text),
  });

/** A version: one of several words, or a positive integer to pin a version. */
function versionOf<W extends string>(words: readonly W[], described: string) {
  const message = `must be ${words.join(", ")} or a number of at least 1 without quotes, for example version: 3`;
  const isWord = words.map((word) => `self == '${word}' || `).join("");
  return z
    .union([z.literal(words), z.int().min(1, message)], message)
    .meta({
      "x-kubernetes-int-or-string": true,
      // The type of a value of unknown length, or a pattern of it, would exceed the cost budget of
      // the API server.
      "x-kubernetes-validations": [{ rule: `${isWord}(self == int(self) && self >= 1)`, message }],
    })
    .optional()
    .describe(`The version to sync: latest (the default), ${described}.`);
}

/** The version to sync: `latest`, or a positive integer to pin a version. */
export const version = versionOf(["latest"], "or a number without quotes to pin that version");

/** The version of a key: also `previous`, below the one that another key of the secret follows. */
export const versionOrPrevious = versionOf(
  ["latest", "previous"],
  "a number without quotes to pin that version, or previous: the one below the version of another entry of data with the same key and owner that follows the latest",
);

export const connectionRef = z
  .object({
    kind: z
      .enum(["VaultConnection", "ClusterVaultConnection"])
      .optional()
      .describe(
        "VaultConnection (the default), in the same namespace, or ClusterVaultConnection, whose access allows this namespace.",
      ),
    name: objectName("VaultConnection").describe("Name of that connection."),
  })
  .describe("The connection through which the operator reads the vault for this resource.");

export const refreshInterval = duration("5s")
  .optional()
  .describe(
    "Minimum time between two changes of the target that follow new versions. The vault is listed once per refreshInterval of the connection in any case. " +
      "Defaults to none: every new version is followed.",
  );

export const expiryNotice = longDuration()
  .optional()
  .describe(
    "Time before the expiry of a version or of a certificate from which the condition ExpiringSoon reports it, in minutes, hours or days; at most a third of its lifetime. " +
      "Defaults to 7d.",
  );

export const suspend = z
  .boolean()
  .optional()
  .describe(
    "If true, the operator does not reconcile this resource and leaves the target unchanged. Defaults to false.",
  );

const JSON_POINTER_PATTERN = "^(/([^/~]|~[01])*)+$";

/** A JSON Pointer (RFC 6901) to a part of a value, not to the whole value. */
export const jsonPointer: z.ZodString = withRule(z.string().min(1).max(256), {
  cel: `self.matches('${JSON_POINTER_PATTERN}')`,
  message:
    "must be a JSON Pointer (RFC 6901) with ~0 for ~ and ~1 for / in names, for example /primary/password",
  check: (pointer) => new RegExp(JSON_POINTER_PATTERN).test(pointer),
});

/**
 * Requires at least one entry in a list, if it is present; {@link requireEntries} requires the list
 * itself.
 */
export function nonEmpty<T extends z.ZodType<readonly unknown[] | undefined>>(
  list: T,
  example: string,
): T {
  return withRule(list, {
    cel: "size(self) > 0",
    message: `must have at least one entry, for example ${example}`,
    check: (entries) => entries?.length !== 0,
  });
}

const MAX_REGEXP_LENGTH = 256;

/**
 * A regular expression in the syntax of RE2. The API server cannot check it: one that is invalid
 * gives InvalidSpec.
 */
export const regexp = z
  .string()
  .min(1)
  .max(MAX_REGEXP_LENGTH)
  .superRefine((source, context) => {
    const parsed = linearRegExp(source);
    if (parsed instanceof LinearRegExp) return;
    context.addIssue(
      `${parsed.message}: must be a regular expression in the syntax of RE2, for example ^shop-(.*)$`,
    );
  });

/**
 * Rules that make keys of names: each replaces what its expression matches in the result of the one
 * before.
 */
export const rewrite = nonEmpty(
  z
    .array(
      z.object({
        regexp: z
          .object({
            source: regexp.describe(
              "Regular expression in the syntax of RE2. What it matches is replaced.",
            ),
            target: z
              .string()
              .max(MAX_REGEXP_LENGTH)
              .describe(
                "The replacement. $1 or ${1} is a group by its number, ${name} one by its name, and $$ a dollar sign.",
              ),
          })
          .superRefine(({ source, target }, context) => {
            const expression = linearRegExp(source);
            const parsed =
              expression instanceof LinearRegExp ? replacementOf(expression, target) : undefined;
            if (!(parsed instanceof RegExpProblem)) return;
            context.addIssue({
              code: "custom",
              path: ["target"],
              message: `${parsed.message}: must be a replacement such as $1`,
            });
          })
          .describe("One replacement."),
      }),
    )
    .max(8)
    .optional(),
  "{regexp: {source: ^shop-(.*)$, target: $1}}",
).describe(
  "Replacements that make the keys of the names, in their order. A name that matches no expression is its own key.",
);

/**
 * Requires one of the lists `fields` of a spec. The schema declares them optional: the API server
 * then reports this message and not its own.
 */
export function requireEntries<
  K extends string,
  T extends z.ZodType<Readonly<Partial<Record<K, unknown>>>>,
>(spec: T, fields: readonly K[], example: string): T {
  return withRule(spec, {
    cel: fields.map((field) => `has(self.${field})`).join(" || "),
    message: `spec.${fields.join(" or spec.")} must have at least one entry, for example ${example}`,
    check: (value) => fields.some((field) => value[field] !== undefined),
  });
}
