import { z } from "zod";
import {
  errorResponse,
  exposedSecret,
  fileRecord,
  fileVersionRecord,
  timestamp,
  secretRecord,
  shareRecord,
  teamRecord,
  tokenResponse,
  uploadedFile,
} from "../responses.ts";
import { ONE_OR_MORE } from "../requests.ts";

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** What several answers are made of; a document names these once. */
const shared: Readonly<Record<string, z.ZodType>> = {
  Timestamp: timestamp,
  Error: errorResponse,
  Tokens: tokenResponse,
  SecretRecord: secretRecord,
  ExposedSecret: exposedSecret,
  ShareRecord: shareRecord,
  Team: teamRecord,
  UploadedFile: uploadedFile,
  FileVersion: fileVersionRecord,
  File: fileRecord,
};

/** Where a document keeps its named schemas. */
const addressOf = (name: string): string => `#/components/schemas/${name}`;

/** A list for which a single entry may stand. */
function oneOrMore(list: JsonSchema): JsonSchema {
  const { description, ...many } = list;
  const entry = typeof list.items === "object" && !Array.isArray(list.items) ? list.items : {};
  return { ...(description !== undefined && { description }), anyOf: [entry, many] };
}

/** Mends what the generator cannot know. */
function adjust({ jsonSchema: made }: { readonly jsonSchema: JsonSchema }): void {
  // Our types' business: an answer is nobody's to write to.
  delete made.readOnly;
  if (made[ONE_OR_MORE] !== true) return;
  delete made[ONE_OR_MORE];
  const changed = oneOrMore(made);
  for (const name of Object.keys(made)) delete made[name];
  Object.assign(made, changed);
}

function generate(named: Readonly<Record<string, z.ZodType>>): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const options = { io: "input", unrepresentable: "any", uri: addressOf, override: adjust } as const;
  const { schemas } = z.toJSONSchema(registry, options);
  for (const schema of Object.values(schemas)) {
    delete schema.$id;
    delete schema.$schema;
  }
  return schemas;
}

/** The named schemas as JSON Schema 2020-12. */
export function sharedSchemas(): Record<string, JsonSchema> {
  return generate(shared);
}

/** A schema as a client writes or reads the value, in JSON Schema 2020-12; the named ones are pointed at. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const name = Object.keys(shared).find((candidate) => shared[candidate] === schema);
  if (name !== undefined) return { $ref: addressOf(name) };
  return generate({ ...shared, root: schema }).root ?? {};
}
