import type { CompletedCommand } from "./command-tree.ts";

const quoted = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

/** Returns the condition that a command is the innermost one on the line. */
function conditionOf({ path, subcommands }: CompletedCommand): string {
  const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`);
  const inner = subcommands.map(({ name }) => name).join(" ");
  const outermost = inner === "" ? [] : [`not __fish_seen_subcommand_from ${inner}`];
  return [...seen, ...outermost].join("; and ");
}

/** Returns a fish script that completes the program's commands, options and their choices. */
export function fishScript(program: string, commands: readonly CompletedCommand[]): string {
  return commands
    .flatMap((command) => {
      const start = `complete -c ${program} -n ${quoted(conditionOf(command))}`;
      const names = command.subcommands.map(
        ({ name, description }) => `${start} -f -a ${name} -d ${quoted(description)}`,
      );
      const options = command.options.map(({ name, description, choices }) => {
        const values = choices.length === 0 ? "" : ` -x -a ${quoted(choices.join(" "))}`;
        return `${start} -l ${name.replace(/^--/u, "")}${values} -d ${quoted(description)}`;
      });
      return [...names, ...options];
    })
    .map((line) => `${line}\n`)
    .join("");
}
