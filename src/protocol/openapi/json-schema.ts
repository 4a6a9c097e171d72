import { z } from "zod";
import {
  consumerRecord,
  errorResponse,
  exposedSecret,
  fileRecord,
  fileVersionRecord,
  timestamp,
  secretRecord,
  versionRecord,
  shareRecord,
  teamRecord,
  tokenResponse,
  uploadedFile,
} from "../responses.ts";
import { ONE_OR_MORE } from "../schemas/request-fields.ts";

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Schemas that several responses contain; a document names them once. */
const shared: Readonly<Record<string, z.ZodType>> = {
  Timestamp: timestamp,
  Error: errorResponse,
  TokenResponse: tokenResponse,
  SecretRecord: secretRecord,
  VersionRecord: versionRecord,
  ExposedSecret: exposedSecret,
  ConsumerRecord: consumerRecord,
  ShareRecord: shareRecord,
  Team: teamRecord,
  UploadedFile: uploadedFile,
  FileVersion: fileVersionRecord,
  File: fileRecord,
};

const addressOf = (name: string): string => `#/components/schemas/${name}`;

/** Returns the schema of one entry or a list of them. */
function oneOrMore(list: JsonSchema): JsonSchema {
  const { description, ...many } = list;
  const entry = typeof list.items === "object" && !Array.isArray(list.items) ? list.items : {};
  return { ...(description !== undefined && { description }), anyOf: [entry, many] };
}

/** Adjusts what the generator cannot know. */
function adjust({ jsonSchema: generated }: { readonly jsonSchema: JsonSchema }): void {
  // A property of the TypeScript types, not of the wire format.
  delete generated.readOnly;
  if (generated[ONE_OR_MORE] !== true) return;
  delete generated[ONE_OR_MORE];
  const changed = oneOrMore(generated);
  for (const name of Object.keys(generated)) delete generated[name];
  Object.assign(generated, changed);
}

function generate(named: Readonly<Record<string, z.ZodType>>): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const options = {
    io: "input",
    unrepresentable: "any",
    uri: addressOf,
    override: adjust,
  } as const;
  const { schemas } = z.toJSONSchema(registry, options);
  for (const schema of Object.values(schemas)) {
    delete schema.$id;
    delete schema.$schema;
  }
  return schemas;
}

/** Returns the named schemas as JSON Schema 2020-12. */
export function sharedSchemas(): Record<string, JsonSchema> {
  return generate(shared);
}

/**
 * Returns the schema as clients write or read the value, in JSON Schema 2020-12; named schemas
 * become references.
 */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const name = Object.keys(shared).find((candidate) => shared[candidate] === schema);
  if (name !== undefined) return { $ref: addressOf(name) };
  return generate({ ...shared, root: schema }).root ?? {};
}
