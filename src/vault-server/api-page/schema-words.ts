import { isDeepStrictEqual } from "node:util";
import type { JsonSchema } from "../../protocol/openapi/json-schema.ts";
import { html, type Html } from "./html.ts";

/** Values up to here are what a double holds, and no limit worth telling. */
const WORTH_TELLING = Number.MAX_SAFE_INTEGER;

function range(from: unknown, to: unknown): string {
  const least = typeof from === "number" && from > -WORTH_TELLING ? from : undefined;
  const most = typeof to === "number" && to < WORTH_TELLING ? to : undefined;
  if (least !== undefined && most !== undefined) return ` ${least} to ${most}`;
  if (least !== undefined) return ` from ${least}`;
  return most === undefined ? "" : ` up to ${most}`;
}

function isSchema(schema: unknown): schema is JsonSchema {
  return typeof schema === "object" && schema !== null && !Array.isArray(schema);
}

function textWords({ format, pattern, minLength, maxLength }: JsonSchema): string {
  if (format === "email") return "e-mail address";
  const characters = range(minLength, maxLength);
  if (characters !== "") return `text,${characters} characters`;
  return pattern === undefined ? "text" : "text of a certain form";
}

function joined(words: readonly Html[], between: string): Html {
  return html`${words.map((word, index) => (index === 0 ? word : html`${between}${word}`))}`;
}

/** A list for which a single entry may stand, as words that say the entry once. */
function oneOrMoreWords(schemas: readonly JsonSchema[]): Html | undefined {
  const [entry, list] = schemas;
  if (schemas.length !== 2 || !entry || list?.type !== "array" || !isDeepStrictEqual(list.items, entry)) return undefined;
  return html`${schemaWords(entry)}, or a list of${range(list.minItems, list.maxItems)} such`;
}

/** What a value of a schema is, in a few words; a named schema as a link to where it is described. */
export function schemaWords(schema: JsonSchema): Html {
  const { $ref, anyOf, enum: values, const: only, items, type } = schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf("/") + 1);
    return html`<a href="#${name}">${name}</a>`;
  }
  if (anyOf && type === undefined) {
    const schemas = anyOf.filter(isSchema);
    return oneOrMoreWords(schemas) ?? joined(schemas.map(schemaWords), " or ");
  }
  if (values)
    return joined(
      values.map((value) => html`<code>${String(value)}</code>`),
      ", ",
    );
  if (only !== undefined) return html`<code>${String(only)}</code>`;
  switch (type) {
    case "string":
      return html`${textWords(schema)}`;
    case "integer":
    case "number":
      return html`${type}${range(schema.minimum, schema.maximum)}`;
    case "array":
      return html`list of${range(schema.minItems, schema.maxItems)} ${isSchema(items) ? schemaWords(items) : "anything"}`;
    case "boolean":
      return html`true or false`;
    case "null":
      return html`null`;
    default:
      return html`${type === "object" ? "object" : "anything"}`;
  }
}

export interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

/** The members of an object's schema, those that must be there first. */
export function fieldsOf({ properties = {}, required = [] }: JsonSchema): readonly Field[] {
  const fields = Object.entries(properties).flatMap(([name, schema]) =>
    isSchema(schema) ? [{ name, required: required.includes(name), schema }] : [],
  );
  return [...fields.filter((field) => field.required), ...fields.filter((field) => !field.required)];
}
