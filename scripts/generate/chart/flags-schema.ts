import type { Option } from "commander";
import { DURATION_PATTERN } from "../../../src/operator/lib/duration.ts";
import type { Chart } from "./charts.ts";
import { jsonSchema, type JsonSchema } from "./schema.ts";

const number = /^(?:number|n|bytes|hours|days)$/u;

/** Returns the schema of the type of a flag's value. */
function typeOf({ flags, description, argChoices }: Option): object {
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
      return [name, { description: option.description, ...typeOf(option), ...flagRules[name] }];
    }),
  );
  return jsonSchema.parse({ type: "object", additionalProperties: false, properties });
}
