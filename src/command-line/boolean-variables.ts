import type { Command, Option } from "commander";

const MEANINGS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
  ["", false],
]);

/**
 * Returns the options of a command that have no value and can be set by an environment variable.
 */
export const booleanVariables = ({ options }: Command): Option[] =>
  options.filter(
    ({ envVar, required, optional }) => envVar !== undefined && !required && !optional,
  );

/**
 * Gives the environment variables of flags without a value their literal meaning: `true` and `1`
 * set the flag, `false`, `0` and an empty variable do not. Commander sets the flag whatever its
 * variable contains.
 * @throws CommanderError for any other content
 */
export function readBooleanVariables(command: Command): void {
  for (const option of booleanVariables(command)) {
    const { envVar = "", long } = option;
    const text = process.env[envVar];
    if (text === undefined) continue;
    const isSet = MEANINGS.get(text.toLowerCase());
    if (isSet === undefined) {
      command.error(
        `error: environment variable ${envVar} (${long}): expected true, false, 1 or 0, found ${JSON.stringify(text)}`,
      );
    }
    const key = option.attributeName();
    if (isSet || command.getOptionValueSource(key) !== "env") continue;
    command.setOptionValueWithSource(key, option.negate ? true : undefined, "default");
  }
}
