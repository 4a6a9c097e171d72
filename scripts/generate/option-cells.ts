import type { Option } from "commander";
import { code, plain } from "./markdown.ts";

/** Returns the default of an option for a cell of a table, empty without one. */
export function optionDefault({ defaultValue, defaultValueDescription, negate }: Option): string {
  if (defaultValue === undefined || defaultValue === false || negate) return "";
  return code(defaultValueDescription ?? String(defaultValue));
}

/** Returns the description of an option with its choices, for a cell of a table. */
export function optionDescription({ description, argChoices }: Option): string {
  const choices = argChoices?.map((choice) => code(choice)).join(", ");
  return plain(description) + (choices === undefined ? "" : ` (${choices})`);
}
