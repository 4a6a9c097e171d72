import { z } from "zod";

/**
 * Reports whether a value has a separate path: a choice among few, as opposed to a text or a
 * number.
 */
const isChoice = (value: unknown): boolean => typeof value === "boolean";

/**
 * Returns the paths of all fields of an object, such as `data[].optional`; names of a map are `*`,
 * see {@link schemaPaths}.
 */
export function pathsOf(value: unknown, known: ReadonlySet<string>, path = ""): Set<string> {
  const paths = new Set<string>(path === "" ? [] : [path]);
  const add = (inner: unknown, at: string): void =>
    pathsOf(inner, known, at).forEach((each) => paths.add(each));
  if (Array.isArray(value)) for (const each of value) add(each, `${path}[]`);
  else if (typeof value === "object" && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      if (inner === undefined) continue;
      const field = path === "" ? name : `${path}.${name}`;
      add(inner, known.has(`${path}.*`) ? `${path}.*` : field);
    }
  } else if (isChoice(value) || known.has(`${path}=${String(value)}`))
    paths.add(`${path}=${String(value)}`);
  return paths;
}

/**
 * Returns the paths of all fields of a schema and, for a choice, the paths of its values, such as
 * `suspend=true`.
 */
export function schemaPaths(schema: z.ZodType, path = ""): Set<string> {
  const paths = new Set<string>(path === "" ? [] : [path]);
  const add = (inner: unknown, at: string): void =>
    schemaPaths(inner as z.ZodType, at).forEach((each) => paths.add(each));
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) add(schema.unwrap(), path);
  else if (schema instanceof z.ZodArray) add(schema.element, `${path}[]`);
  else if (schema instanceof z.ZodRecord) add(schema.valueType, `${path}.*`);
  else if (schema instanceof z.ZodUnion) for (const option of schema.options) add(option, path);
  else if (schema instanceof z.ZodEnum)
    for (const value of schema.options) paths.add(`${path}=${value}`);
  else if (schema instanceof z.ZodLiteral)
    for (const value of schema.values) paths.add(`${path}=${String(value)}`);
  else if (schema instanceof z.ZodBoolean) paths.add(`${path}=true`);
  else if (schema instanceof z.ZodObject) {
    for (const [name, inner] of Object.entries(schema.shape))
      add(inner, path === "" ? name : `${path}.${name}`);
  }
  return paths;
}
