import { Command, Option } from "commander";
import { addAccountOption } from "../../../command-line/options.ts";
import { addManifestOptions, HAS_PROBLEMS, parseList, parseWholeNumber } from "../options.ts";
import type { RenderFlags } from "./render.ts";
import type { RunFlags } from "./run.ts";

/** Adds the options that select manifests, and the login that reads their sources. */
const addLocalOptions = (command: Command): Command =>
  addManifestOptions(addAccountOption(command))
    .option(
      "--identity-token-file <file>",
      "token of a workload, such as a projected token of a ServiceAccount: log in with it instead of an account, to the vault that the VaultConnection names",
    )
    .option(
      "--ca-file <file>",
      "PEM bundle trusted at that login instead of the public authorities",
    )
    .option(
      "--allowed-secret-types <types>",
      "value of this flag of the operator: comma-separated types of Secrets in addition to the default ones",
      parseList,
    );

const intervalOption = (): Option =>
  new Option("--interval <seconds>", "time between two lists of the vault with --watch")
    .argParser(parseWholeNumber)
    .default(10);

function renderCommand(): Command {
  return addLocalOptions(new Command("render"))
    .description(
      `Print or write what the operator would write for manifests, with the values. Uses the account of vaultsync login, and no cluster. If the operator would not write a target, the reason is printed as FILE:LINE: message, and the exit code is ${HAS_PROBLEMS}.`,
    )
    .addOption(
      new Option("--secret", "print Secrets and ConfigMaps as YAML").conflicts([
        "env",
        "dir",
        "json",
        "watch",
      ]),
    )
    .addOption(
      new Option(
        "--env <file>",
        "write the keys of Opaque Secrets as NAME='value'; - prints them",
      ).conflicts("json"),
    )
    .addOption(
      new Option("--dir <directory>", "write each key to DIRECTORY/TARGET/KEY").conflicts("json"),
    )
    .addOption(new Option("--json", "print the content of all targets as JSON").conflicts("watch"))
    .option("--show", "print values to a terminal")
    .option("--watch", "replace the files of --dir and --env when the vault has another version")
    .addOption(intervalOption())
    .action(async (flags: RenderFlags, command: Command) =>
      (await import("./render.ts")).render(flags, command),
    );
}

const RUN_HELP = `
Keys of Opaque VaultSecrets are environment variables. VaultFiles, and
VaultSecrets of other types, are files TARGET/KEY in a private directory in
memory, whose path is in VAULTSYNC_FILES. Values are neither arguments nor on a
disk.

Exit codes: the command's, 128 and the number of the signal that ended it,
126 if it cannot be executed, 127 if it does not exist; before it starts, 1 if
the values cannot be read, 2 for wrong usage, ${HAS_PROBLEMS} if the operator would not
write a target.

Examples:
  vaultsync run -f app.yaml -- npm start
  vaultsync run -f app.yaml --watch --mask -- ./server --port 8080`;

function runCommand(): Command {
  return addLocalOptions(new Command("run"))
    .description(
      "Run a command with the values that the operator would write for manifests. Uses the account of vaultsync login, and no cluster.",
    )
    .argument("<command...>", "the command and its arguments, after --")
    .option("--watch", "restart the command when the vault has another version")
    .addOption(intervalOption())
    .option(
      "--grace <seconds>",
      "time for the command to end, with --watch, before it is killed",
      parseWholeNumber,
      10,
    )
    .option("--mask", "replace values in the output of the command by ***")
    .addHelpText("after", RUN_HELP)
    .action(async (words: string[], flags: RunFlags) =>
      (await import("./run.ts")).run(words, flags),
    );
}

/** Returns the definitions of the commands that act on manifests without a cluster. */
export function localCommands(): Command[] {
  return [renderCommand(), runCommand()];
}
