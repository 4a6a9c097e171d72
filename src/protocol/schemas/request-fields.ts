import { z } from "zod";
import type { RequestLimits } from "../define-operation.ts";
import { canonicalEmail, isEmailAddress } from "../email-address.ts";
import { nameSchema } from "../names.ts";

/** Marks a list schema for which a single entry is accepted; read by openapi/json-schema.ts. */
export const ONE_OR_MORE = "x-one-or-more";

/** A list with a minimum and maximum length; a single string is accepted as a list of one. */
export function oneOrMore<T extends z.ZodType>(
  entry: T,
  maxEntries: number,
  minEntries = 1,
): z.ZodType<z.output<T>[], string | readonly z.input<T>[]> {
  const list = z.array(entry).min(minEntries).max(maxEntries);
  return z
    .preprocess(
      (given: string | readonly z.input<T>[]) => (typeof given === "string" ? [given] : given),
      list,
    )
    .meta({ [ONE_OR_MORE]: true });
}

/** The caller's own address, as sent. */
export const callerEmail = nameSchema(320).meta({
  description: "The caller's own address, in any case.",
});

/** Another user's address, canonical. */
export const userEmail = z
  .string()
  .refine(isEmailAddress, "expected an email address")
  .meta({ format: "email", maxLength: 320 })
  .transform(canonicalEmail);

/** The creator's canonical address. */
export const owner = nameSchema(320)
  .meta({ description: "The creator's address, to tell several secrets of one name apart." })
  .transform(canonicalEmail)
  .optional();

export const versionNumber = z.int().min(1);

/** Precondition of a change: the latest version that the caller knows. */
export const expectedVersion = versionNumber.optional().meta({
  description:
    "The latest version that the caller knows; another one returns `version_changed`, and nothing is changed.",
});

export const secretValue = z
  .string()
  .refine((text) => text.isWellFormed(), "must be well-formed Unicode")
  .meta({ description: "The secret value: well-formed Unicode, may be empty." });

/** Whole hours, at most what a finite number of milliseconds can express. */
export const expirationHours = z
  .number()
  .min(1)
  .refine(
    (count) => Number.isInteger(count) && Number.isFinite(count * 3_600_000),
    "expected whole hours",
  )
  .meta({ type: "integer", description: "Hours until the token expires; no maximum." });

/** Body of operations that take nothing but the caller's address. */
export function callerRequest() {
  return z.object({ email: callerEmail });
}

/** Field of a deletion that bypasses the trash. */
export const permanently = z.boolean().optional().meta({
  description: "Deletes without a stay in the trash, as for a value that has leaked.",
});

/** Body of operations on senders of shares. */
export function sendersRequest({ entriesPerRequest }: RequestLimits) {
  return callerRequest().extend({
    usr_id_from: oneOrMore(userEmail, entriesPerRequest).meta({
      description: "Addresses of senders.",
    }),
  });
}

/** Body of operations on one secret. */
export function secretRequest({ nameCharacters }: RequestLimits) {
  return z.object({ email: callerEmail, key_name: nameSchema(nameCharacters) });
}

/** Body of operations on one team. */
export function teamRequest({ nameCharacters }: RequestLimits) {
  return z.object({ email: callerEmail, group_id: nameSchema(nameCharacters) });
}

/** Body of operations on one file; without `version`, the latest version or all of them. */
export function fileRequest({ nameCharacters }: RequestLimits) {
  return z.object({
    email: callerEmail,
    filename: nameSchema(nameCharacters),
    version: versionNumber.optional(),
  });
}
