import type { Option } from "commander";
import { operatorCommand } from "../../src/operator/cli/operator.ts";
import { code, plain, table } from "./markdown.ts";

function defaultOf({ defaultValue, defaultValueDescription, negate }: Option): string {
  if (defaultValue === undefined || negate) return "";
  return code(defaultValueDescription ?? String(defaultValue));
}

function descriptionOf({ description, argChoices }: Option): string {
  const choices = argChoices?.map((choice) => code(choice)).join(", ");
  return plain(description) + (choices === undefined ? "" : ` (${choices})`);
}

/** Returns the flags of `vaultsync operator` as a table, from their definition. */
export function operatorFlags(): string {
  return table(
    ["Flag", "Environment variable", "Default", "Description"],
    operatorCommand().options.map((option) => [
      code(option.flags),
      code(option.envVar ?? ""),
      defaultOf(option),
      descriptionOf(option),
    ]),
  );
}
