import { type Command, Option } from "commander";
import { stringify } from "yaml";

export interface FormatFlags {
  readonly output: "table" | "json" | "yaml";
}

/** Adds the option that selects an output format. */
export function addFormatOption(command: Command): Command {
  return command.addOption(
    new Option("-o, --output <format>", "output format")
      .choices(["table", "json", "yaml"])
      .default("table"),
  );
}

/** Formats an object as JSON or YAML. */
export const formatObject = (object: object, output: "json" | "yaml"): string =>
  output === "json" ? `${JSON.stringify(object, undefined, 2)}\n` : stringify(object);
