import type { Option } from "commander";
import { operatorCommand } from "../../../src/cli/operator.ts";
import { DURATION_PATTERN } from "../../../src/lib/duration.ts";
import type { JsonSchema } from "./schema.ts";

/** Flags that the chart sets itself, with the value that does. */
const ofTheChart: readonly string[] = [
  "kubeconfig", // the ServiceAccount
  "namespace", // the namespace of the release
  "namespaces", // namespaces
  "targetWatch", // targetWatch
  "listen", // the ports of the probes, the Service and the NetworkPolicy
  "leaderElect", // a rolling update runs two operators
];

function schemaOfFlag({ flags, description, argChoices }: Option): object {
  if (argChoices !== undefined) return { description, enum: argChoices };
  switch (/<(.+)>/u.exec(flags)?.[1]) {
    case undefined:
      return { description, type: "boolean" };
    case "number":
    case "bytes":
      return { description, type: "integer", minimum: 0 };
    case "duration":
      return { description, type: "string", pattern: `${DURATION_PATTERN}|^0$` };
    default:
      return { description, type: "array", minItems: 1, items: { type: "string", pattern: "^[^,\\s]+$" } };
  }
}

/** Returns the schema of the value `flags`: the flags of `vaultsync operator`, by their name in camel case. */
export function flagsSchema(): JsonSchema {
  const options = operatorCommand().options.filter((option) => !ofTheChart.includes(option.attributeName()));
  const properties = Object.fromEntries(options.map((option) => [option.attributeName(), schemaOfFlag(option)]));
  return { type: "object", additionalProperties: false, properties } as JsonSchema;
}
