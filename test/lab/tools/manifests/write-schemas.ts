import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { ControlPlane } from "../../control-plane/control-plane.ts";

interface Schema {
  readonly [key: string]: unknown;
}

const Schema: z.ZodType<Schema> = z.record(z.string(), z.unknown());
const Kind = z.object({ group: z.string(), version: z.string(), kind: z.string() });
const Index = z.object({ paths: z.record(z.string(), z.unknown()) });
const Document = z.object({
  components: z
    .object({ schemas: z.record(z.string(), Schema).default({}) })
    .default({ schemas: {} }),
});

/** Returns the value of kubeconform's `-schema-location` for the schemas in a directory. */
export const schemaLocation = (directory: string): string =>
  join(directory, "{{ .Group }}_{{ .ResourceAPIVersion }}_{{ .ResourceKind }}.json");

/**
 * Writes a JSON schema for each kind that the API server serves. They know every field of the
 * server's version, need no network, and reject unknown fields.
 */
export async function writeSchemas(plane: ControlPlane, directory: string): Promise<void> {
  const { paths } = Index.parse(await read(plane, "/openapi/v3"));
  for (const path of Object.keys(paths).filter(
    (one) => one === "api/v1" || /^apis\/[^/]+\/[^/]+$/u.test(one),
  )) {
    const { schemas } = Document.parse(await read(plane, `/openapi/v3/${path}`)).components;
    const strict = Object.fromEntries(
      Object.entries(schemas).map(([name, schema]) => [name, rejectUnknown(schema)]),
    );
    for (const [name, schema] of Object.entries(schemas)) {
      for (const { group, version, kind } of kindsOf(schema)) {
        const file = `${group === "" ? version : group}_${version}_${kind.toLowerCase()}.json`;
        await writeFile(
          join(directory, file),
          JSON.stringify({ ...referenceTo(name), components: { schemas: strict } }),
        );
      }
    }
  }
}

async function read(plane: ControlPlane, path: string): Promise<unknown> {
  const { status, body } = await plane.request("GET", path);
  if (status !== 200) throw new Error(`GET ${path}: ${status}`);
  return JSON.parse(body);
}

const referenceTo = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** Returns the kinds whose objects have this schema; options of requests have many. */
function kindsOf(schema: Schema): z.output<typeof Kind>[] {
  const kinds = z.array(Kind).safeParse(schema["x-kubernetes-group-version-kind"]).data ?? [];
  return kinds.length === 1 ? kinds : [];
}

/** Returns a schema whose objects have only the fields that the schema names, at any depth. */
function rejectUnknown(schema: Schema): Schema {
  const isObject = typeof schema["properties"] === "object";
  const isOpen =
    schema["additionalProperties"] !== undefined ||
    schema["x-kubernetes-preserve-unknown-fields"] === true;
  const copied = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, rejectUnknownIn(value)]),
  );
  return isObject && !isOpen ? { ...copied, additionalProperties: false } : copied;
}

function rejectUnknownIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rejectUnknownIn);
  const schema = Schema.safeParse(value).data;
  return schema === undefined ? value : rejectUnknown(schema);
}
