import { z } from "zod";
import { customResourceDefinitions } from "../../src/operator/api/crd.ts";
import { code, plain, table } from "./markdown.ts";

/** The part of an OpenAPI schema that the tables show. */
interface Schema {
  readonly type?: string | undefined;
  readonly format?: string | undefined;
  readonly description?: string | undefined;
  readonly enum?: readonly string[] | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly required?: readonly string[] | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly items?: Schema | undefined;
}

const schema: z.ZodType<Schema> = z.looseObject({
  type: z.string().optional(),
  format: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  maxItems: z.number().optional(),
  required: z.array(z.string()).optional(),
  get properties() {
    return z.record(z.string(), schema).optional();
  },
  get items() {
    return schema.optional();
  },
});

const definition = z.object({
  spec: z.object({
    names: z.object({ kind: z.string() }),
    versions: z.array(z.object({ schema: z.object({ openAPIV3Schema: schema }) })),
  }),
});

function boundsOf({ minimum, maximum }: Schema): string {
  if (minimum === undefined) return "";
  return maximum === undefined ? `, at least ${minimum}` : `, ${minimum} to ${maximum}`;
}

function typeOf(field: Schema): string {
  if (field.enum !== undefined) return field.enum.map(code).join(", ");
  switch (field.type) {
    case undefined:
      return "integer or string";
    case "array":
      return `list of ${typeOf(field.items ?? {})}${field.maxItems === undefined ? "" : `, at most ${field.maxItems}`}`;
    case "string":
      return field.format === "date-time" ? "timestamp" : "string";
    default:
      return `${field.type}${boundsOf(field)}`;
  }
}

/**
 * Returns the default that a description names; schemas have none of their own
 * (docs/design/status.md#schemas).
 */
function defaultOf(description: string): string {
  const named =
    /Defaults to (\S+?)\.(?:\s|$)/u.exec(description) ?? /(\w+) \(the default\)/u.exec(description);
  return named?.[1] === undefined ? "" : code(named[1]);
}

function* rowsOf(parent: Schema, path: string): Generator<string[]> {
  for (const [name, field] of Object.entries(parent.properties ?? {})) {
    const description = field.description ?? "";
    const at = `${path}.${name}${field.type === "array" ? "[]" : ""}`;
    const required = parent.required?.includes(name) === true ? "yes" : "";
    yield [code(at), typeOf(field), required, defaultOf(description), plain(description)];
    yield* rowsOf(field.type === "array" ? (field.items ?? {}) : field, at);
  }
}

/**
 * Returns the tables of docs/resources.md by the name of their section: the spec and the status of
 * each kind.
 */
export function resourceFields(): Record<string, string> {
  const sections: Record<string, string> = {};
  for (const each of customResourceDefinitions().values()) {
    const { names, versions } = definition.parse(each).spec;
    const { spec, status } = versions[0]?.schema.openAPIV3Schema.properties ?? {};
    const kind = names.kind.toLowerCase();
    const head = ["Field", "Type", "Required", "Default", "Description"];
    sections[`${kind}-spec`] = table(head, [...rowsOf(spec ?? {}, "spec")]);
    sections[`${kind}-status`] = table(
      [head[0] ?? "", head[1] ?? "", head[4] ?? ""],
      Array.from(rowsOf(status ?? {}, "status"), ([path = "", type = "", , , description = ""]) => [
        path,
        type,
        description,
      ]),
    );
  }
  return sections;
}
