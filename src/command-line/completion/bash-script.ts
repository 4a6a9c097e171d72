import type { CompletedCommand } from "./command-tree.ts";

const key = (path: readonly string[]): string => JSON.stringify(path.join(" "));

/**
 * Returns a script for bash, and for zsh with bashcompinit, that completes the program's commands,
 * options and their choices. Names need no quoting in a shell. The variable `path` would be `PATH`
 * in zsh.
 */
export function bashScript(program: string, commands: readonly CompletedCommand[]): string {
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
