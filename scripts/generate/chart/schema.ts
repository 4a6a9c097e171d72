import { z } from "zod";
import type { ChartValue } from "./values.ts";

/** A JSON schema, as far as the pages read it. */
export interface JsonSchema {
  readonly description?: string | undefined;
  readonly type?: string | readonly string[] | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly $ref?: string | undefined;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
}

export const jsonSchema: z.ZodType<JsonSchema> = z.looseObject({
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
export const isGroup = ({ properties }: JsonSchema, { fallback }: ChartValue): boolean =>
  properties !== undefined &&
  fallback !== null &&
  typeof fallback === "object" &&
  Object.keys(fallback).length > 0;

/**
 * Returns the schema of a value, or `undefined` for what is inside of a value such as `affinity`.
 * @throws Error when there is none
 */
export function schemaOf(
  root: JsonSchema,
  { path }: Pick<ChartValue, "path">,
): JsonSchema | undefined {
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
