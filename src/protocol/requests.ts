import { z } from "zod";
import { metadataObject, standardMetadataFields } from "./metadata.ts";
import { nameSchema } from "./names.ts";

const email = z.string().min(1).max(320);
const version = z.int().min(1);

/** No maximum, but that the lifetime is a finite number of milliseconds. */
const hours = z
  .number()
  .min(1)
  .refine((count) => Number.isInteger(count) && Number.isFinite(count * 3_600_000), "expected whole hours");

/** Longest accepted `delete_time`, in minutes. Source: the vault contract, "Fine print". */
const MAX_DELETE_MINUTES = 10 ** 12;

/** Minutes as an integer or a decimal string; `null` is as if left out. */
const deleteTime = z
  .union([z.int(), z.string().regex(/^[0-9]{1,20}$/u, "expected minutes in digits"), z.null()])
  .transform((minutes) => (minutes === null ? undefined : Number(minutes)))
  .pipe(z.number().min(1).max(MAX_DELETE_MINUTES).optional())
  .optional();

const value = z.string().refine((text) => text.isWellFormed(), "must be well-formed Unicode");

export const generateAccessTokenRequest = z.object({
  email,
  password: z.string().min(1).max(1024),
  scope: z.string(),
  expiration_hours: hours,
});

export const refreshTokenRequest = z.object({
  refresh_token: z.string().min(1).max(1024),
  used_access_token: z.string().min(1).max(1024),
});

export const listRequest = z.object({ email });

/** Request bodies that hold names, whose longest length a server may set. Unknown members are dropped. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the schemas are the types
export function namedRequests(maxNameCharacters: number) {
  const name = nameSchema(maxNameCharacters);
  return {
    protect: z.object({
      ...standardMetadataFields,
      email,
      key_name: name,
      key_value: value,
      metadata: metadataObject.optional(),
      delete_time: deleteTime,
    }),
    secret: z.object({ email, key_name: name }),
    secretVersion: z.object({ email, key_name: name, key_version: version }),
    file: z.object({ email, filename: name, version: version.optional() }),
  };
}
