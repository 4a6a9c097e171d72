import { z } from "zod";
import { isObject } from "../lib/is-object.ts";

/** A version's metadata: the six standard names, always there, and custom ones with any JSON value. */
export type Metadata = Readonly<Record<string, unknown>>;

/** What a secret created without metadata gets. Source: the interface, "Secret metadata". */
export const defaultMetadata: Metadata = {
  application_type: "container",
  classification: "top",
  cloud_type: "aws",
  description: "n/a",
  environment_type: "dev",
  expiration_time: 10,
};

/** The standard names as a request may spell them. `expiration_time` is in days. */
export const standardMetadataFields = {
  application_type: z.string().optional(),
  classification: z.string().optional(),
  cloud_type: z.string().optional(),
  description: z.string().optional(),
  environment_type: z.string().optional(),
  enviroment_type: z.string().optional(),
  expiration_time: z.int().min(0).optional().meta({ description: "Days until it expires." }),
};

const standardMetadata = z.object(standardMetadataFields);
const standardNames = Object.keys(standardMetadataFields);

/** JSON can write numbers that a double cannot hold; they would come back as `null`. */
function holdsOverflow(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  return typeof value === "object" && value !== null && Object.values(value).some(holdsOverflow);
}

/** The `metadata` member of a request. The object passes through untouched, so that a custom name such as `__proto__` stays data. */
export const metadataObject = z
  .custom<Metadata>(isObject, "expected an object")
  .superRefine((metadata, context) => {
    const standard = standardMetadata.safeParse(metadata);
    for (const issue of standard.error?.issues ?? [])
      context.addIssue({ code: "custom", path: issue.path, message: issue.message });
    for (const [name, value] of Object.entries(metadata)) {
      if (holdsOverflow(value)) context.addIssue({ code: "custom", path: [name], message: "holds a number out of range" });
    }
  })
  .meta({
    type: "object",
    properties: z.toJSONSchema(standardMetadata, { io: "input" }).properties,
    additionalProperties: true,
    description: "The names given are changed, the others kept; custom names take any JSON value.",
  });

/** The right spelling wins over `enviroment_type`; only the right one is kept. */
function rightSpelling(level: Metadata): [string, unknown][] {
  const right = Object.hasOwn(level, "environment_type");
  return Object.entries(level)
    .filter(([name, value]) => value !== undefined && !(right && name === "enviroment_type"))
    .map(([name, value]) => [name === "enviroment_type" ? "environment_type" : name, value]);
}

/**
 * The metadata names a request gives: those inside `metadata` win over standard names at the top level of the body.
 * Source: the vault contract, "Secrets" and "Fine print".
 */
export function givenMetadata(body: Readonly<Record<string, unknown>> & { readonly metadata?: Metadata | undefined }): Metadata {
  const top = Object.fromEntries(Object.entries(body).filter(([name]) => standardNames.includes(name)));
  return Object.fromEntries([...rightSpelling(top), ...rightSpelling(body.metadata ?? {})]);
}

/** `changes` laid over `base`: the names given are changed, the others kept. */
export function mergeMetadata(base: Metadata, changes: Metadata): Metadata {
  return Object.fromEntries([...Object.entries(base), ...Object.entries(changes)]);
}
