import { isDeepStrictEqual } from "node:util";
import type { JsonSchema } from "../../src/protocol/openapi/json-schema.ts";
import { code } from "./markdown.ts";

export function isSchema(schema: unknown): schema is JsonSchema {
  return typeof schema === "object" && schema !== null && !Array.isArray(schema);
}

/** Returns the bounds as text. Omits the bounds of safe integers. */
function range(minimum: unknown, maximum: unknown): string {
  const from =
    typeof minimum === "number" && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined;
  const to = typeof maximum === "number" && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  if (from !== undefined && to !== undefined) return `${from} to ${to}`;
  if (from !== undefined) return `at least ${from}`;
  return to === undefined ? "" : `at most ${to}`;
}

const qualified = (type: string, bounds: string, unit = ""): string =>
  bounds === "" ? type : `${type}, ${bounds}${unit}`;

function stringType({ format, minLength, maxLength }: JsonSchema): string {
  if (format === "email") return "email address";
  if (maxLength === undefined) return minLength === undefined ? "string" : "non-empty string";
  return qualified("string", range(minLength, maxLength), " characters");
}

function unionType(schemas: readonly JsonSchema[]): string {
  const [entry, list] = schemas;
  if (
    schemas.length === 2 &&
    entry &&
    list?.type === "array" &&
    isDeepStrictEqual(list.items, entry)
  ) {
    return qualified(
      `${typeOf(entry)}; or a list`,
      range(list.minItems, list.maxItems),
      " entries",
    );
  }
  const types = schemas.map((schema) =>
    typeof schema.type === "string" ? schema.type : typeOf(schema),
  );
  return [...new Set(types)].join(" or ");
}

/**
 * Returns the type of a JSON Schema as a short Markdown text; named schemas link to their section
 * of the same page.
 */
export function typeOf(schema: JsonSchema): string {
  const { $ref, anyOf, enum: values, const: only, items, type } = schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf("/") + 1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (anyOf && type === undefined) return unionType(anyOf.filter(isSchema));
  if (values) return values.map((value) => code(String(value))).join(", ");
  if (only !== undefined) return code(String(only));
  switch (type) {
    case "string":
      return stringType(schema);
    case "integer":
    case "number":
      return qualified(type, range(schema.minimum, schema.maximum));
    case "array":
      return `list of ${isSchema(items) ? typeOf(items) : "any value"}`;
    case "boolean":
    case "null":
    case "object":
      return type;
    default:
      return "any value";
  }
}
