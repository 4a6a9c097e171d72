import { Command } from "commander";
import { addAccountOption, addFormatOption } from "../../../command-line/options.ts";
import {
  addClusterOptions,
  addKubeconfigOptions,
  addOperatorOption,
  NOT_READY,
  parseSeconds,
} from "../options.ts";
import { FOLLOWING_NAME, parseFollowingName, type ResourceName } from "../resource-name.ts";
import type { ApproveFlags } from "./approve.ts";
import type { FreezeFlags, UnfreezeFlags } from "./freeze.ts";
import type { HistoryFlags } from "./history.ts";

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

const parseNames = (text: string, before: readonly ResourceName[] = []): ResourceName[] => [
  ...before,
  parseFollowingName(text),
];

function approveCommand(): Command {
  return addFormatOption(addClusterOptions(new Command("approve")))
    .description(
      `Approve the newest versions of resources with spec.updates.approval: set the annotation vaultsync.dev/approve to the digest of exactly these versions, and wait for the result. The exit code is ${NOT_READY} if the vault has newer ones by then, or a resource is not ready.`,
    )
    .argument("[name...]", FOLLOWING_NAME, parseNames)
    .option("--all", "all VaultSecrets and VaultFiles of the namespace that wait for an approval")
    .option("--timeout <seconds>", "time to wait for the operator", parseSeconds, 60)
    .option("--dry-run", "print the versions, and change nothing")
    .action(async (names: ResourceName[], flags: ApproveFlags) =>
      (await import("./approve.ts")).approve(names, flags),
    );
}

function historyCommand(): Command {
  return addFormatOption(addAccountOption(addClusterOptions(new Command("history"))))
    .description(
      "Show the versions of the entries that a resource refers to, their times and authors, what the target has of them and what the latest one waits for, and the last restarts. Asks the vault with your login; without one, it shows the versions that the cluster knows. Reads no values.",
    )
    .argument("<name>", FOLLOWING_NAME, parseFollowingName)
    .action(async (name: ResourceName, flags: HistoryFlags) =>
      (await import("./history.ts")).history(name, flags),
    );
}

/** Returns the definitions of the commands that say when targets follow newer versions. */
export const updateCommands = (): Command[] => [
  historyCommand(),
  approveCommand(),
  freezeCommand(),
  unfreezeCommand(),
];
