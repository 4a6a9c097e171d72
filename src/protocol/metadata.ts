import { z } from "zod";
import { isObject } from "../lib/is-object.ts";

/**
 * The metadata of a version: the six standard names, always present, and custom names with any JSON
 * value.
 */
export type Metadata = Readonly<Record<string, unknown>>;

/**
 * The metadata of a secret that is created without any
 * (docs/design/vault-contract.md#secret-metadata).
 */
export const defaultMetadata: Metadata = {
  application_type: "container",
  classification: "top",
  cloud_type: "aws",
  description: "n/a",
  environment_type: "dev",
  expiration_time: 10,
};

/**
 * The standard names as spelled in requests, including the misspelling of the interface.
 * `expiration_time` is in days.
 */
export const standardMetadataFields = {
  application_type: z.string().optional(),
  classification: z.string().optional(),
  cloud_type: z.string().optional(),
  description: z.string().optional(),
  environment_type: z.string().optional(),
  enviroment_type: z.string().optional(),
  expiration_time: z
    .int()
    .min(0)
    .optional()
    .meta({ description: "Days until the secret expires." }),
};

const standardMetadata = z.object(standardMetadataFields);
const standardNames = Object.keys(standardMetadataFields);

/** Reports whether every version has metadata of this name, in either spelling. */
export function isStandardName(name: string): boolean {
  return standardNames.includes(name);
}

/** Reports a number beyond the range of a double: JSON allows it but would return it as `null`. */
function hasOverflow(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  return typeof value === "object" && value !== null && Object.values(value).some(hasOverflow);
}

/**
 * The `metadata` member of a request. The object is passed on unchanged: a custom name such as
 * `__proto__` stays data.
 */
export const metadataObject = z
  .custom<Metadata>(isObject, "expected an object")
  .superRefine((metadata, context) => {
    const standard = standardMetadata.safeParse(metadata);
    for (const issue of standard.error?.issues ?? [])
      context.addIssue({ code: "custom", path: issue.path, message: issue.message });
    for (const [name, value] of Object.entries(metadata)) {
      if (hasOverflow(value))
        context.addIssue({
          code: "custom",
          path: [name],
          message: "contains a number out of range",
        });
    }
  })
  .meta({
    type: "object",
    properties: z.toJSONSchema(standardMetadata, { io: "input" }).properties,
    additionalProperties: true,
    description:
      "Changes the given names and keeps the others. Custom names accept any JSON value. The sum is limited in size and number of names.",
  });

/** Renames `enviroment_type` to `environment_type`, unless the correct spelling is present. */
function correctSpelling(level: Metadata): [string, unknown][] {
  const correct = Object.hasOwn(level, "environment_type");
  return Object.entries(level)
    .filter(([name, value]) => value !== undefined && !(correct && name === "enviroment_type"))
    .map(([name, value]) => [name === "enviroment_type" ? "environment_type" : name, value]);
}

/**
 * Returns the metadata in a request. Names inside `metadata` take precedence over standard names at
 * the top level of the body (docs/design/vault-contract.md#secret-metadata).
 */
export function givenMetadata(
  body: Readonly<Record<string, unknown>> & { readonly metadata?: Metadata | undefined },
): Metadata {
  const top = Object.fromEntries(
    Object.entries(body).filter(([name]) => standardNames.includes(name)),
  );
  return Object.fromEntries([...correctSpelling(top), ...correctSpelling(body.metadata ?? {})]);
}

/** Returns `base` with `changes` applied; other names are kept. */
export function mergeMetadata(base: Metadata, changes: Metadata): Metadata {
  return Object.fromEntries([...Object.entries(base), ...Object.entries(changes)]);
}
