import { Argument, Command } from "commander";
import { bashScript } from "./bash-script.ts";
import { commandTree } from "./command-tree.ts";
import { fishScript } from "./fish-script.ts";

type Shell = "bash" | "zsh" | "fish";

function script(shell: Shell, program: Command): string {
  const commands = commandTree(program);
  if (shell === "fish") return fishScript(program.name(), commands);
  const bash = bashScript(program.name(), commands);
  return shell === "zsh"
    ? `autoload -Uz compinit bashcompinit && compinit && bashcompinit\n${bash}`
    : bash;
}

/** Returns the definition of `vaultsync completion`. */
export function completionCommand(): Command {
  return new Command("completion")
    .description("Print a script that completes commands and options in a shell.")
    .addArgument(
      new Argument("<shell>", "shell that reads the script").choices(["bash", "zsh", "fish"]),
    )
    .addHelpText(
      "after",
      "\nExample:\n  source <(vaultsync completion bash)\n  vaultsync completion fish | source",
    )
    .action((shell: Shell, _flags: object, command: Command) => {
      process.stdout.write(script(shell, command.parent ?? command));
    });
}
