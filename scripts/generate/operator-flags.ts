import { operatorCommand } from "../../src/operator/cli/operator.ts";
import { code, table } from "./markdown.ts";
import { optionDefault, optionDescription } from "./option-cells.ts";

/** Returns the flags of `vaultsync operator` as a table, from their definition. */
export function operatorFlags(): string {
  return table(
    ["Flag", "Environment variable", "Default", "Description"],
    operatorCommand().options.map((option) => [
      code(option.flags),
      code(option.envVar ?? ""),
      optionDefault(option),
      optionDescription(option),
    ]),
  );
}
