import type { Command, Option } from "commander";
import { program } from "../../src/program.ts";
import { code, table } from "./markdown.ts";
import { optionTable, programTable } from "./option-cells.ts";

/** Commands whose options another page or another section shows. */
const elsewhere: readonly string[] = ["operator", "help"];

/** An option that this many commands have is common. */
const COMMON_USES = 2;

const isShown = ({ hidden }: Option): boolean => !hidden;
const keyOf = ({ flags, description }: Option): string => `${flags}\n${description}`;

/** Returns the options that several commands have, by their key. */
function commonOptions(commands: readonly Command[]): Map<string, Option> {
  const uses = Map.groupBy(
    commands.flatMap(({ options }) => options.filter(isShown)),
    keyOf,
  );
  return new Map(
    [...uses].flatMap(([key, [option, ...more]]) =>
      option !== undefined && more.length + 1 >= COMMON_USES ? [[key, option] as const] : [],
    ),
  );
}

/** Returns the options of a command: the names of common ones, and a table of the rest. */
function optionsOf(command: Command, common: Map<string, Option>): string {
  const options = command.options.filter(isShown);
  if (options.length === 0) return "It has no options.";
  const shared = options.filter((option) => common.has(keyOf(option)));
  const rest = options.filter((option) => !common.has(keyOf(option)));
  const names = shared.map(({ flags }) => code(flags)).join(", ");
  return [
    ...(shared.length > 0 ? [`[Common options](#common-options): ${names}.`] : []),
    ...(rest.length > 0 ? [optionTable(rest)] : []),
  ].join("\n\n");
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
  const flags = command.options.filter(isShown).map(({ long, flags: all }) => code(long ?? all));
  return [
    code(`${path} ${command.name()} ${usage}`.trim()),
    command.description(),
    command.name() === "serve" ? "[below](#vaultsync-vault-serve)" : flags.join(", "),
  ];
}

function sectionOf(command: Command, common: Map<string, Option>): string {
  const path = `vaultsync ${command.name()}`;
  const details =
    command.commands.length > 0 ? subcommandsOf(command, path) : optionsOf(command, common);
  return `${usageOf(command, path)}\n\n${command.description()}\n\n${details}`;
}

/**
 * Returns the sections of docs/command-line.md by the name of the command: its usage, description
 * and options, or its subcommands.
 */
export function commandLine(): Record<string, string> {
  const commands = program().commands.filter((command) => !elsewhere.includes(command.name()));
  const common = commonOptions(commands);
  const sections: Record<string, string> = { "common-options": optionTable([...common.values()]) };
  for (const command of commands) {
    sections[command.name()] = sectionOf(command, common);
    const serve = command.commands.find((each) => each.name() === "serve");
    if (serve !== undefined)
      sections["vault-serve"] = programTable("VAULTSYNC_VAULT", serve.options);
  }
  return sections;
}
