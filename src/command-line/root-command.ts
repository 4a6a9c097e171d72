import { Command } from "commander";
import { packageVersion } from "../lib/package-version.ts";
import { readBooleanVariables } from "./boolean-variables.ts";

/**
 * Returns the definition of a command line with these commands, which throws CommanderError for
 * wrong usage.
 */
export function rootCommand(commands: readonly Command[]): Command {
  const root = new Command("vaultsync")
    .description("Sync secrets and files from a vault into Kubernetes Secrets and ConfigMaps.")
    .version(packageVersion(), "-V, --version", "print the version")
    // The option --version of a command is its own.
    .enablePositionalOptions()
    .hook("preAction", (_, command) => readBooleanVariables(command))
    .exitOverride();
  for (const command of commands) root.addCommand(command.copyInheritedSettings(root));
  return root;
}
