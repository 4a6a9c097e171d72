import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { code, table, withSections } from "../markdown.ts";
import type { Chart } from "./charts.ts";
import { chartValues, type ChartValue } from "./values.ts";
import type { Option } from "commander";
import { DURATION_PATTERN } from "../../../src/operator/lib/duration.ts";

/** A JSON schema, as far as the pages read it. */
export interface JsonSchema {
  readonly description?: string | undefined;
  readonly type?: string | readonly string[] | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly $ref?: string | undefined;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
}

const jsonSchema: z.ZodType<JsonSchema> = z.looseObject({
  description: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  $ref: z.string().optional(),
  get properties() {
    return z.record(z.string(), jsonSchema).optional();
  },
});

/** Helm itself passes this value to a chart that is a dependency of another one. */
const ofHelm = "global";

/**
 * Reports whether a value is a map whose names values.yaml lists, and not one value such as
 * `affinity`.
 */
const isGroup = ({ properties }: JsonSchema, { fallback }: ChartValue): boolean =>
  properties !== undefined &&
  fallback !== null &&
  typeof fallback === "object" &&
  Object.keys(fallback).length > 0;

/**
 * Returns the schema of a value, or `undefined` for what is inside of a value such as `affinity`.
 * @throws Error when there is none
 */
function schemaOf(root: JsonSchema, { path }: Pick<ChartValue, "path">): JsonSchema | undefined {
  let schema = root;
  for (const name of path) {
    if (schema.properties === undefined) return undefined;
    const next = schema.properties[name];
    if (next === undefined)
      throw new Error(`values.schema.json has nothing for the value ${path.join(".")}`);
    schema = next;
  }
  return schema;
}

/**
 * Returns the schema with the comments of values.yaml as descriptions, and `flags` as the schema of
 * the flags.
 * @throws Error when a value has no schema or no comment, or values.yaml lacks a value of the
 * schema
 */
export function describedSchema(
  root: JsonSchema,
  values: readonly ChartValue[],
  flags?: JsonSchema,
): JsonSchema {
  const byPath = new Map(values.map((value) => [value.path.join("."), value]));
  const describe = (schema: JsonSchema, path: readonly string[]): JsonSchema => {
    const value = byPath.get(path.join("."));
    if (path.length > 0 && value === undefined)
      throw new Error(`values.yaml has nothing for ${path.join(".")}`);
    const { description: _, properties, ...rest } = schema;
    const described = { ...(value?.description && { description: value.description }), ...rest };
    if (path.join(".") === "flags" && flags !== undefined) return { ...described, ...flags };
    if (value !== undefined && !isGroup(schema, value)) {
      if (value.description === "")
        throw new Error(`values.yaml has no comment for ${path.join(".")}`);
      return { ...described, ...(properties && { properties }) };
    }
    const entries = Object.entries(properties ?? {}).map(([name, inner]): [string, JsonSchema] => [
      name,
      path.length === 0 && name === ofHelm ? inner : describe(inner, [...path, name]),
    ]);
    return { ...described, properties: Object.fromEntries(entries) };
  };
  for (const value of values) schemaOf(root, value);
  return describe(root, []);
}

const number = /^(?:number|n|bytes|hours|days)$/u;

/** Returns the schema of the type of a flag's value. */
function flagType({ flags, description, argChoices }: Option): object {
  const parameter = /<(.+)>/u.exec(flags)?.[1];
  if (parameter === undefined) return { type: "boolean" };
  if (argChoices !== undefined) return { enum: argChoices };
  if (number.test(parameter)) return { type: "integer", minimum: 0 };
  if (parameter === "duration") return { type: "string", pattern: `${DURATION_PATTERN}|^0$` };
  if (parameter.endsWith(",...") || description.startsWith("comma-separated"))
    return { type: "array", minItems: 1, items: { type: "string", pattern: "^[^,\\s]+$" } };
  return { type: "string", minLength: 1 };
}

/**
 * Returns the schema of the value `flags`: the flags of a command by their name in camel case,
 * except the flags that the chart sets itself.
 */
export function flagsSchema({
  command,
  ownFlags,
  flagRules,
}: Pick<Chart, "command" | "ownFlags" | "flagRules">): JsonSchema {
  const { options } = command();
  const names = options.map((option) => option.attributeName());
  const unknown = [...ownFlags, ...Object.keys(flagRules)].filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`the command has no flags ${unknown.join(", ")}`);
  const others = options.filter((option) => !ownFlags.includes(option.attributeName()));
  const properties = Object.fromEntries(
    others.map((option) => {
      const name = option.attributeName();
      return [name, { description: option.description, ...flagType(option), ...flagRules[name] }];
    }),
  );
  return jsonSchema.parse({ type: "object", additionalProperties: false, properties });
}

/** Returns JSON with each array and object on one line if that has at most `width` characters. */
function compactJson(value: unknown, width: number, indent = ""): string {
  const line = JSON.stringify(value);
  if (value === null || typeof value !== "object" || indent.length + line.length <= width)
    return line;
  const inner = `${indent} `;
  const items = Array.isArray(value)
    ? value.map((item) => compactJson(item, width, inner))
    : Object.entries(value).map(
        ([name, item]) => `${JSON.stringify(name)}: ${compactJson(item, width, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${items.map((item) => inner + item).join(",\n")}\n${indent}${close}`;
}

/** The functions of the templates. The charts share them. */
const helpers = "templates/_helpers.tpl";

/** A default of more characters is not shown. */
const longest = 60;

function typeOf({ type, enum: values, $ref }: JsonSchema): string {
  if (values !== undefined) return values.map((value) => code(JSON.stringify(value))).join(", ");
  if ($ref !== undefined) return "object";
  return typeof type === "string" ? type : (type ?? []).join(" or ");
}

function row(value: ChartValue, schema: JsonSchema): string[] {
  const fallback = JSON.stringify(value.fallback);
  const shown = fallback.length > longest ? "[values.yaml](values.yaml)" : code(fallback);
  return [code(value.path.join(".")), typeOf(schema), shown, value.description];
}

function valuesTable(schema: JsonSchema, values: readonly ChartValue[]): string {
  const rows = values.flatMap((value) => {
    const own = schemaOf(schema, value);
    return own === undefined || isGroup(own, value) ? [] : [row(value, own)];
  });
  return table(["Value", "Type", "Default", "Description"], rows);
}

/** Replaces the versions in Chart.yaml. @throws Error when it has none */
function withVersions(path: string, text: string, version: string): string {
  for (const name of ["version", "appVersion"]) {
    if (!new RegExp(`^${name}: `, "mu").test(text)) throw new Error(`${path} has no ${name}`);
  }
  return text.replaceAll(/^(version|appVersion): .*$/gmu, `$1: ${version}`);
}

/** Returns the generated files of a Helm chart, by path from the repository root. */
export async function chartFiles({ folder, ...chart }: Chart): Promise<Map<string, string>> {
  const read = (name: string): Promise<string> => readFile(join(folder, name), "utf8");
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile("package.json", "utf8")));
  const values = chartValues(await read("values.yaml"));
  const given = jsonSchema.parse(JSON.parse(await read("values.schema.json")));
  const schema = describedSchema(given, values, flagsSchema(chart));
  const readme = withSections(`${folder}/README.md`, await read("README.md"), {
    values: valuesTable(schema, values),
  });
  return new Map([
    [join(folder, helpers), await readFile(join("deploy/chart", helpers), "utf8")],
    [
      join(folder, "Chart.yaml"),
      withVersions(`${folder}/Chart.yaml`, await read("Chart.yaml"), version),
    ],
    [join(folder, "values.schema.json"), `${compactJson(schema, 100)}\n`],
    [join(folder, "README.md"), readme],
  ]);
}
