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
      return `list${field.items?.type === "object" ? "" : ` of ${typeOf(field.items ?? {})}`}${field.maxItems === undefined ? "" : `, at most ${field.maxItems}`}`;
    case "string":
      return field.format === "date-time" ? "timestamp" : "string";
    default:
      return `${field.type}${boundsOf(field)}`;
  }
}

type Row = readonly [path: string, type: string, description: string];

function* rowsOf(parent: Schema, path: string): Generator<Row> {
  for (const [name, field] of Object.entries(parent.properties ?? {})) {
    const at = `${path}.${name}${field.type === "array" ? "[]" : ""}`;
    const isRequired = parent.required?.includes(name) === true && path.startsWith("spec");
    const required = isRequired ? "; required" : "";
    yield [at, typeOf(field) + required, plain(field.description ?? "")];
    yield* rowsOf(field.type === "array" ? (field.items ?? {}) : field, at);
  }
}

/** The kinds whose fields a kind repeats. Its tables contain only those that differ. */
const bases: ReadonlyMap<string, readonly string[]> = new Map([
  ["ClusterVaultConnection", ["VaultConnection"]],
  ["VaultSecret", ["VaultConnection"]],
  ["VaultFile", ["VaultSecret"]],
  ["ClusterVaultSecret", ["VaultSecret"]],
  ["ClusterVaultFile", ["ClusterVaultSecret", "VaultFile"]],
  ["VaultPush", ["VaultSecret"]],
]);

const isWithin = (path: string, parent: string): boolean =>
  path === parent || path.startsWith(`${parent}.`);

/** Returns the fields that are the same in both lists with all that is below them. */
function sameFields(rows: readonly Row[], base: readonly Row[]): string[] {
  const treeOf = (all: readonly Row[], root: string): string =>
    JSON.stringify(all.filter(([path]) => isWithin(path, root)));
  return rows.map(([path]) => path).filter((path) => treeOf(rows, path) === treeOf(base, path));
}

/** Returns a table of fields, after the names of those that the kinds `others` have too. */
function section(
  rows: readonly Row[],
  others: readonly (readonly [kind: string, rows: readonly Row[]])[],
  part: string,
): string {
  let own = rows;
  const common: string[] = [];
  for (const [kind, baseRows] of others) {
    const same = sameFields(own, baseRows);
    const known = new Set(baseRows.map((row) => row.join("\n")));
    own = own.filter((row) => !known.has(row.join("\n")));
    const roots = same.filter(
      (path) => !same.some((each) => each !== path && isWithin(path, each)),
    );
    const link = `[${kind}](#${part}-of-a-${kind.toLowerCase()})`;
    if (roots.length > 0) common.push(`As for a ${link}: ${roots.map(code).join(", ")}.`);
  }
  const head = ["Field", "Type", "Description"];
  const cells = own.map(([path, type, description]) => [code(path), type, description]);
  return [...common, ...(own.length === 0 ? [] : [table(head, cells)])].join("\n\n");
}

/**
 * Returns the tables of docs/resources.md by the name of their section: the spec and the status of
 * each kind.
 */
export function resourceFields(): Record<string, string> {
  const kinds = new Map(
    Array.from(customResourceDefinitions().values(), (each) => {
      const { names, versions } = definition.parse(each).spec;
      return [names.kind, versions[0]?.schema.openAPIV3Schema.properties];
    }),
  );
  const sections: Record<string, string> = {};
  for (const kind of kinds.keys()) {
    for (const part of ["spec", "status"]) {
      const rows = (of: string): Row[] => [...rowsOf(kinds.get(of)?.[part] ?? {}, part)];
      const others = (bases.get(kind) ?? []).map((base) => [base, rows(base)] as const);
      sections[`${kind.toLowerCase()}-${part}`] = section(rows(kind), others, part);
    }
  }
  return sections;
}
