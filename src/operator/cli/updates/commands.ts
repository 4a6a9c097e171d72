import { Command } from "commander";
import { addFormatOption } from "../../../command-line/options.ts";
import { addKubeconfigOptions } from "../options.ts";
import type { FreezeFlags, UnfreezeFlags } from "./freeze.ts";

const addOperatorOption = (command: Command): Command =>
  command.option("--operator-namespace <name>", "namespace of the operator", "vaultsync-system");

function freezeCommand(): Command {
  return addFormatOption(addOperatorOption(addKubeconfigOptions(new Command("freeze"))))
    .description(
      "Keep all targets of the cluster from following newer versions until a time, or until vaultsync unfreeze: write the ConfigMap vaultsync-freeze. First contents, repairs, removals and changed specs do not wait.",
    )
    .requiredOption("--until <time>", "end, such as 2026-12-27T06:00:00Z")
    .option("--reason <text>", "reason, shown in the status of resources that wait")
    .option(
      "--namespace-selector <labels>",
      "labels of the namespaces that are frozen, such as team=shop,tier!=test (default: all)",
    )
    .action(async (flags: FreezeFlags) => (await import("./freeze.ts")).freeze(flags));
}

function unfreezeCommand(): Command {
  return addFormatOption(addOperatorOption(addKubeconfigOptions(new Command("unfreeze"))))
    .description(
      "End a freeze: delete the ConfigMap vaultsync-freeze. Targets follow the newest versions within seconds.",
    )
    .action(async (flags: UnfreezeFlags) => (await import("./freeze.ts")).unfreeze(flags));
}

/** Returns the definitions of the commands that say when targets follow newer versions. */
export const updateCommands = (): Command[] => [freezeCommand(), unfreezeCommand()];
