import { Command, Option } from "commander";
import { addAccountOption, addFormatOption } from "../../../command-line/options.ts";
import {
  addAllNamespacesOption,
  addClusterOptions,
  addKubeconfigOptions,
  NOT_READY,
  parseVersion,
} from "../options.ts";
import type { RetireFlags } from "./retire.ts";
import type { UsageFlags } from "./usage.ts";

function usageCommand(): Command {
  const command = addAllNamespacesOption(addClusterOptions(new Command("usage")));
  return addFormatOption(addAccountOption(command))
    .description(
      "Show which resources refer to an entry of the vault, the workloads that use their targets, and whether all pods run the last content. Reads the cluster, and no values.",
    )
    .argument(
      "[name]",
      "entry of the vault, or KIND/NAME of a resource, target or workload (default: all)",
    )
    .addOption(new Option("--unused", "only targets that no workload uses").conflicts("impact"))
    .addOption(
      new Option(
        "--unused-entries",
        "entries of your vault account that no resource of these namespaces refers to: asks the vault with your login",
      ).conflicts(["impact", "unused"]),
    )
    .option("--impact", "what a new version would restart, and when")
    .action(async (name: string | undefined, flags: UsageFlags) =>
      (await import("./usage.ts")).usage(name, flags),
    );
}

function retireCommand(): Command {
  return addFormatOption(addAccountOption(addKubeconfigOptions(new Command("retire"))))
    .description(
      `Delete a version of a secret in the vault, once it is proven that no pod of the cluster runs it: all resources that refer to the secret have a newer version and are Converged; no pod may use a target of a ClusterVaultSecret: it has no such condition. Otherwise print which are not, with exit code ${NOT_READY}.`,
    )
    .argument("<name>", "name of the secret in the vault")
    .requiredOption("--version <version>", "version to delete", parseVersion)
    .option("--yes", "delete without asking")
    .option("--dry-run", "print the proof, and delete nothing")
    .action(async (name: string, flags: RetireFlags, command: Command) =>
      (await import("./retire.ts")).retire(name, flags, command),
    );
}

/** Returns the definitions of the commands about what is in use. */
export const usageCommands = (): Command[] => [usageCommand(), retireCommand()];
