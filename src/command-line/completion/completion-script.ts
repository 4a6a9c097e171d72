import type { Command } from "commander";
import { bashScript } from "./bash-script.ts";
import { commandTree } from "./command-tree.ts";
import { fishScript } from "./fish-script.ts";

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
