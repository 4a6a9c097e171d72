import { Argument, Command } from "commander";
import { readBooleanVariables } from "./command-line/boolean-variables.ts";
import type { Shell } from "./command-line/completion-script.ts";
import { packageVersion } from "./lib/package-version.ts";
import { userCommands, valueCheck } from "./operator/cli/commands.ts";
import { operatorCommand } from "./operator/cli/operator.ts";
import { accountCommands } from "./vault/cli/account/commands.ts";
import { vaultCommand } from "./vault/cli/vault.ts";

function completionCommand(): Command {
  return new Command("completion")
    .description("Print a script that completes commands and options in a shell.")
    .addArgument(
      new Argument("<shell>", "shell that reads the script").choices(["bash", "zsh", "fish"]),
    )
    .addHelpText(
      "after",
      "\nExample:\n  source <(vaultsync completion bash)\n  vaultsync completion fish | source",
    )
    .action(async (shell: Shell, _flags: object, command: Command) => {
      const { completionScript } = await import("./command-line/completion-script.ts");
      process.stdout.write(completionScript(shell, command.parent ?? command));
    });
}

/**
 * Returns the definition of the whole command line: names, options and help. It loads neither the
 * operator nor the vault server; a command loads its action when it runs. Throws CommanderError for
 * wrong usage.
 */
export function program(): Command {
  const root = new Command("vaultsync")
    .description("Sync secrets and files from a vault into Kubernetes Secrets and ConfigMaps.")
    .version(packageVersion(), "-V, --version", "print the version")
    // The option --version of a command is its own.
    .enablePositionalOptions()
    .hook("preAction", (_, command) => readBooleanVariables(command))
    .exitOverride();
  const commands = [
    operatorCommand(),
    ...userCommands(),
    ...accountCommands(valueCheck),
    vaultCommand(),
    completionCommand(),
  ];
  for (const command of commands) root.addCommand(command.copyInheritedSettings(root));
  return root;
}
