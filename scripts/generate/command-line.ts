import { homedir } from "node:os";
import type { Command, Option } from "commander";
import { program } from "../../src/program.ts";
import { code, table } from "./markdown.ts";
import { optionDefault, optionDescription } from "./option-cells.ts";

/** Commands whose options another page or another section shows. */
const elsewhere: readonly string[] = ["operator", "help"];

const isShown = ({ hidden }: Option): boolean => !hidden;

/** Returns the options of a command as a table, or a sentence when it has none. */
function optionsOf(command: Command): string {
  const options = command.options.filter(isShown);
  if (options.length === 0) return "It has no options.";
  const variables = options.some(({ envVar }) => envVar !== undefined);
  return table(
    ["Option", ...(variables ? ["Environment variable"] : []), "Default", "Description"],
    options.map((option) => [
      code(option.flags),
      ...(variables ? [option.envVar === undefined ? "" : code(option.envVar)] : []),
      optionDefault(option).replace(homedir(), "~"),
      optionDescription(option),
    ]),
  );
}

function usageOf(command: Command, path: string): string {
  return code(`${path} ${command.usage()}`);
}

/** Returns the subcommands of a command as a table: usage without options, effect and options. */
function subcommandsOf(command: Command, path: string): string {
  return table(
    ["Command", "Effect", "Options"],
    command.commands.flatMap((each) =>
      each.commands.length > 0 ? rowsOf(each, `${path} ${each.name()}`) : [rowOf(each, path)],
    ),
  );
}

const rowsOf = (command: Command, path: string): string[][] =>
  command.commands.map((each) => rowOf(each, path));

function rowOf(command: Command, path: string): string[] {
  const usage = command.usage().replace("[options]", "").trim();
  const flags = command.options.filter(isShown).map(({ flags: each }) => code(each));
  return [
    code(`${path} ${command.name()} ${usage}`.trim()),
    command.description(),
    command.name() === "serve" ? "[below](#vaultsync-vault-serve)" : flags.join(", "),
  ];
}

function sectionOf(command: Command, path: string): string {
  const details = command.commands.length > 0 ? subcommandsOf(command, path) : optionsOf(command);
  return `${usageOf(command, path)}\n\n${command.description()}\n\n${details}`;
}

/**
 * Returns the sections of docs/command-line.md by the name of the command: its usage, description
 * and options, or its subcommands.
 */
export function commandLine(): Record<string, string> {
  const root = program();
  const sections: Record<string, string> = {};
  for (const command of root.commands) {
    if (elsewhere.includes(command.name())) continue;
    sections[command.name()] = sectionOf(command, `vaultsync ${command.name()}`);
    const serve = command.commands.find((each) => each.name() === "serve");
    if (serve !== undefined) sections["vault-serve"] = optionsOf(serve);
  }
  return sections;
}
