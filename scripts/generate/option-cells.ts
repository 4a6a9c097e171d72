import { homedir } from "node:os";
import type { Option } from "commander";
import { code, plain, table } from "./markdown.ts";

/** Returns the default of an option, empty without one. */
function defaultOf({ defaultValue, defaultValueDescription, negate }: Option): string {
  if (defaultValue === undefined || defaultValue === false || negate) return "";
  return code(defaultValueDescription ?? String(defaultValue)).replace(homedir(), "~");
}

/** Returns the description of an option with its choices, its default and its variable. */
function descriptionOf(option: Option, variable?: string): string {
  const choices = option.argChoices?.map((choice) => code(choice)).join(", ") ?? "";
  const standard = defaultOf(option);
  const notes = [
    choices,
    standard && `default ${standard}`,
    variable === undefined ? "" : `variable ${code(variable)}`,
  ]
    .filter(Boolean)
    .join("; ");
  return plain(option.description) + (notes === "" ? "" : ` (${notes})`);
}

/** Returns the options of a command as a table. */
export const optionTable = (options: readonly Option[]): string =>
  table(
    ["Option", "Description"],
    options.map((option) => [code(option.flags), descriptionOf(option, option.envVar)]),
  );

/**
 * Returns the options of a program as a table without their variables, because the page states how
 * a flag gives its variable its name.
 * @throws Error when a variable has another name
 */
export function programTable(prefix: string, options: readonly Option[]): string {
  for (const { long, envVar } of options) {
    const derived = `${prefix}_${long?.slice(2).replaceAll("-", "_").toUpperCase()}`;
    if (envVar !== derived)
      throw new Error(`the variable of ${long} is ${envVar}, and the manual says ${derived}`);
  }
  return table(
    ["Flag", "Description"],
    options.map((option) => [code(option.flags), descriptionOf(option)]),
  );
}
