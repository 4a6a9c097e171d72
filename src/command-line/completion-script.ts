import type { Command } from "commander";

/** One command of a command line, as far as completion has to know it. */
interface CompletedCommand {
  /**
   * Names from the outermost command to this one, without the program; empty for the program
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
function commandTree(command: Command, path: readonly string[] = []): CompletedCommand[] {
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

const key = (path: readonly string[]): string => JSON.stringify(path.join(" "));

/**
 * Returns a script for bash, and for zsh with bashcompinit, that completes the program's commands,
 * options and their choices. Names need no quoting in a shell. The variable `path` would be `PATH`
 * in zsh.
 */
function bashScript(program: string, commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path.length > 0).map(({ path }) => key(path));
  const words = commands.map(({ path, subcommands, options }) => {
    const all = [...subcommands, ...options].map(({ name }) => name).join(" ");
    return `    ${key(path)}) words="${all}" ;;`;
  });
  const choices = commands.flatMap(({ path, options }) =>
    options
      .filter((option) => option.choices.length > 0)
      .map(
        (option) => `    ${key([...path, option.name])}) words="${option.choices.join(" ")}" ;;`,
      ),
  );
  return `_${program}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} level="" words="" word
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "\${level:+$level }$word" in
      ${paths.join(" | ")}) level="\${level:+$level }$word" ;;
    esac
  done
  case "\${level:+$level }$previous" in
${choices.join("\n")}
    *)
      case "$level" in
${words.map((line) => `    ${line}`).join("\n")}
      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${program} ${program}
`;
}

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
function fishScript(program: string, commands: readonly CompletedCommand[]): string {
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

export type Shell = "bash" | "zsh" | "fish";

/** Returns a script that completes the commands and options of a program in a shell. */
export function completionScript(shell: Shell, program: Command): string {
  const commands = commandTree(program);
  if (shell === "fish") return fishScript(program.name(), commands);
  const bash = bashScript(program.name(), commands);
  return shell === "zsh"
    ? `autoload -Uz compinit bashcompinit && compinit && bashcompinit\n${bash}`
    : bash;
}
