import type { Command } from "commander";

/** One command of a command line, as far as completion has to know it. */
export interface CompletedCommand {
  /**
   * Its name and those of the commands around it, without the program: empty for the program
   * itself.
   */
  readonly path: readonly string[];
  readonly subcommands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly {
    readonly name: string;
    readonly description: string;
    readonly choices: readonly string[];
  }[];
}

/** Returns the program and all of its commands, outermost first. */
export function commandTree(command: Command, path: readonly string[] = []): CompletedCommand[] {
  const help = { name: "--help", description: "display help for command", choices: [] };
  const options = command.options
    .filter(({ hidden }) => !hidden)
    .map((option) => ({
      name: option.long ?? option.short ?? "",
      description: option.description,
      choices: option.argChoices ?? [],
    }));
  const subcommands = command.commands.map((one) => ({
    name: one.name(),
    description: one.description(),
  }));
  const inner = command.commands.flatMap((one) => commandTree(one, [...path, one.name()]));
  return [{ path, subcommands, options: [...options, help] }, ...inner];
}
