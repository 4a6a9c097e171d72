import { type Command, CommanderError, type OptionValues } from "commander";
import { expect, onTestFinished, test, vi } from "vitest";
import { booleanVariables } from "./boolean-variables.ts";
import { program } from "../program.ts";

const commandsOf = (command: Command): Command[] => [
  command,
  ...command.commands.flatMap(commandsOf),
];
const pathOf = (command: Command): string[] =>
  command.parent === null ? [] : [...pathOf(command.parent), command.name()];

const variables = commandsOf(program()).flatMap((command) =>
  booleanVariables(command).map((option) => ({
    variable: option.envVar ?? "",
    flag: option.long ?? "",
    path: pathOf(command),
    key: option.attributeName(),
    ifSet: !option.negate,
    ifUnset: option.negate ? true : undefined,
  })),
);

/** Returns the options that a command receives. */
async function parsed(
  path: readonly string[],
  flags: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<OptionValues> {
  const root = program();
  const command = path.reduce(
    (parent, name) => parent.commands.find((each) => each.name() === name) ?? parent,
    root,
  );
  command.action(() => undefined).configureOutput({ writeErr: () => undefined });
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  await root.parseAsync([...path, ...flags], { from: "user" });
  return command.opts();
}

test("the flags without a value that a variable sets are known", () => {
  expect(variables.map(({ path, variable }) => `${path.join(" ")}: ${variable}`)).toEqual([
    "operator: VAULTSYNC_NO_LEADER_ELECT",
    "operator: VAULTSYNC_ALLOW_HTTP",
    "vault serve: VAULTSYNC_VAULT_ALLOW_MISSING_KEYS",
    "vault serve: VAULTSYNC_VAULT_DEV",
    "vault serve: VAULTSYNC_VAULT_ALLOW_HTTP_LISTEN",
    "vault serve: VAULTSYNC_VAULT_PROXY_PROTOCOL",
  ]);
});

test.each(variables)(
  "$variable sets its flag for true and 1 only",
  async ({ variable, path, key, ifSet, ifUnset }) => {
    for (const text of ["true", "TRUE", "True", "1"])
      expect((await parsed(path, [], { [variable]: text }))[key]).toBe(ifSet);
    for (const text of ["false", "FALSE", "0", ""])
      expect((await parsed(path, [], { [variable]: text }))[key]).toBe(ifUnset);
  },
);

test.each(variables)(
  "$flag takes precedence over its variable",
  async ({ variable, flag, path, key, ifSet }) => {
    expect((await parsed(path, [flag], { [variable]: "false" }))[key]).toBe(ifSet);
  },
);

test.each(variables)(
  "$variable with any other content is wrong usage",
  async ({ variable, flag, path }) => {
    for (const text of ["yes", "on", "2", " true", "no"]) {
      const error: unknown = await parsed(path, [], { [variable]: text }).catch(
        (caught: unknown) => caught,
      );
      expect(error).toBeInstanceOf(CommanderError);
      expect(String(error)).toBe(
        `CommanderError: error: environment variable ${variable} (${flag}): expected true, false, 1 or 0, found "${text}"`,
      );
    }
  },
);
