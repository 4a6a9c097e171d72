import type { Command, Option } from "commander";
import { DURATION_PATTERN } from "../../../src/operator/lib/duration.ts";
import { jsonSchema, type JsonSchema } from "./schema.ts";

const number = /^(?:number|bytes|hours|days)$/u;

function schemaOfFlag({ flags, description, argChoices }: Option): object {
  const parameter = /<(.+)>/u.exec(flags)?.[1];
  if (parameter === undefined) return { description, type: "boolean" };
  if (argChoices !== undefined) return { description, enum: argChoices };
  if (number.test(parameter)) return { description, type: "integer", minimum: 0 };
  if (parameter === "duration")
    return { description, type: "string", pattern: `${DURATION_PATTERN}|^0$` };
  if (parameter.endsWith(",...") || description.startsWith("comma-separated"))
    return {
      description,
      type: "array",
      minItems: 1,
      items: { type: "string", pattern: "^[^,\\s]+$" },
    };
  return { description, type: "string", minLength: 1 };
}

/**
 * Returns the schema of the value `flags`: the flags of a command by their name in camel case,
 * except the flags that the chart sets itself.
 */
export function flagsSchema({ options }: Command, ofTheChart: readonly string[]): JsonSchema {
  const names = options.map((option) => option.attributeName());
  const unknown = ofTheChart.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`the command has no flags ${unknown.join(", ")}`);
  const others = options.filter((option) => !ofTheChart.includes(option.attributeName()));
  const properties = Object.fromEntries(
    others.map((option) => [option.attributeName(), schemaOfFlag(option)]),
  );
  return jsonSchema.parse({ type: "object", additionalProperties: false, properties });
}
