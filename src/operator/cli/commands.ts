import { Command, InvalidArgumentError, Option } from "commander";
import {
  ACCOUNT_VARIABLE,
  accountDirectory,
  addAccountOption,
  addFormatOption,
} from "../../command-line/options.ts";
import type { ValueCheck } from "../../command-line/value-check.ts";
import type { ConnectionRef } from "../api/connection-key.ts";
import {
  API_GROUP,
  clusterVaultSecretKind,
  connectionKinds,
  type Kind,
  syncedKinds,
  vaultConnectionKind,
  vaultPushKind,
  vaultSecretKind,
} from "../api/kinds.ts";
import type { AcceptFlags } from "./accept.ts";
import type { DoctorFlags } from "./doctor.ts";
import type { ImportFlags } from "./import/import.ts";
import { localCommands } from "./local/commands.ts";
import {
  addAllNamespacesOption,
  addClusterOptions,
  addKubeconfigOptions,
  addManifestOptions,
  addOperatorOption,
  HAS_PROBLEMS,
  NOT_READY,
  parseList,
  parseSeconds,
  parseTime,
  parseVersion,
  parseWholeNumber,
} from "./options.ts";
import type { PlanFlags } from "./plan/plan.ts";
import type { ReleaseFlags } from "./release/release.ts";
import type { ResumeFlags, RollbackFlags } from "./rollback.ts";
import type { StatusFlags } from "./status/status.ts";
import { FOLLOWING_NAME, nameOf, parseFollowingName, type ResourceName } from "./resource-name.ts";
import type { SyncFlags } from "./sync.ts";
import { updateCommands } from "./updates/commands.ts";
import { usageCommands } from "./usage/commands.ts";

function statusCommand(): Command {
  return addFormatOption(addAllNamespacesOption(addClusterOptions(new Command("status"))))
    .description(
      `Show the VaultSecrets, VaultFiles and VaultPushes of a namespace, the ClusterVaultSecrets and ClusterVaultFiles that select it, and their connections: whether they are ready, and the versions that they have. The exit code is ${NOT_READY} if one is not ready.`,
    )
    .argument("[name...]", "NAME, a VaultSecret, or KIND/NAME (default: all)", parseShownName)
    .option("-l, --selector <labels>", "labels of the resources, such as app=shop,tier!=test")
    .option("--items", "one row per key of a target")
    .option("-w, --watch", "show each change until interrupted")
    .action(async (names: ResourceName[], flags: StatusFlags) =>
      (await import("./status/status.ts")).status(names, flags),
    );
}

const readyKinds = [...Object.values(syncedKinds), vaultPushKind];

/** Returns the parser of several names, each of one of these kinds. */
const parseNames =
  (kinds: readonly Kind[]) =>
  (text: string, before: readonly ResourceName[] = []): ResourceName[] => [
    ...before,
    nameOf(text, kinds),
  ];
const parseName = parseNames(readyKinds);
const parseShownName = parseNames([...readyKinds, vaultConnectionKind]);

function syncCommand(): Command {
  return addClusterOptions(new Command("sync"))
    .description(
      `Sync resources now instead of at the next list of the vault, and wait for the result. The target is read and compared as well. The exit code is ${NOT_READY} if one is not ready.`,
    )
    .argument(
      "<name...>",
      "NAME or vaultsecret/NAME, vaultfile/NAME, vaultpush/NAME, clustervaultsecret/NAME or clustervaultfile/NAME",
      parseName,
    )
    .option("--timeout <seconds>", "time to wait for the operator", parseSeconds, 60)
    .action(async (names: ResourceName[], flags: SyncFlags) =>
      (await import("./sync.ts")).sync(names, flags),
    );
}

function rollbackCommand(): Command {
  return addFormatOption(addAccountOption(addClusterOptions(new Command("rollback"))))
    .description(
      `Take the target of a resource back to an earlier version of an entry, and hold it there until vaultsync resume: set the annotation vaultsync.dev/hold, and wait for the result. Its other keys stay in the versions that they have. The exit code is ${NOT_READY} if the target does not have the version afterwards.`,
    )
    .argument("<name>", FOLLOWING_NAME, parseFollowingName)
    .option("--key <key>", "key of the target, if it has several entries of the vault")
    .addOption(
      new Option("--to <version>", "version (default: the one before)")
        .argParser(parseVersion)
        .conflicts("at"),
    )
    .option(
      "--at <time>",
      "the version that was the latest one then, such as 2026-12-24T06:00:00Z: asks the vault with your login",
      parseTime,
    )
    .option("--reason <text>", "reason, shown in the status of the resource")
    .option("--timeout <seconds>", "time to wait for the operator", parseSeconds, 60)
    .option(
      "--wait",
      "wait until all pods run the version as well, where the resource has the condition Converged",
    )
    .option("--dry-run", "print the versions, and change nothing")
    .action(async (name: ResourceName, flags: RollbackFlags) =>
      (await import("./rollback.ts")).rollback(name, flags),
    );
}

function resumeCommand(): Command {
  return addFormatOption(addClusterOptions(new Command("resume")))
    .description(
      `Let a resource follow the vault again after a rollback: remove the annotation vaultsync.dev/hold, and wait for the result. The exit code is ${NOT_READY} if the resource is not ready.`,
    )
    .argument("<name>", FOLLOWING_NAME, parseFollowingName)
    .option("--timeout <seconds>", "time to wait for the operator", parseSeconds, 60)
    .action(async (name: ResourceName, flags: ResumeFlags) =>
      (await import("./rollback.ts")).resume(name, flags),
    );
}

/** Parses `NAME`, a VaultConnection, or `KIND/NAME`. @throws InvalidArgumentError */
function parseConnection(text: string): ConnectionRef {
  const [first = "", second, ...more] = text.split("/");
  const kindName = second === undefined ? "vaultconnection" : first.toLowerCase();
  const name = second ?? first;
  for (const kind of ["VaultConnection", "ClusterVaultConnection"] as const) {
    const { singular, plural, shortName } = connectionKinds[kind];
    const isKind = [singular, plural, shortName].includes(kindName);
    if (isKind && name !== "" && more.length === 0) return { kind, name };
  }
  throw new InvalidArgumentError("expected NAME or clustervaultconnection/NAME.");
}

function acceptCommand(): Command {
  return addAllNamespacesOption(addClusterOptions(new Command("accept")))
    .description(
      "Accept that the vault of a connection lists lower versions than were synced, after it was restored from a backup: set the annotation of each resource that is VersionRegressed; of ClusterVaultSecrets and ClusterVaultFiles only with --all-namespaces.",
    )
    .requiredOption(
      "--connection <name>",
      "NAME of a VaultConnection, or clustervaultconnection/NAME",
      parseConnection,
    )
    .option("--dry-run", "print the versions, and change nothing")
    .action(async (flags: AcceptFlags) => (await import("./accept.ts")).accept(flags));
}

/** The check of values by the resources of a cluster, for the commands that store them. */
export const valueCheck: ValueCheck = {
  addOptions: (command) =>
    addClusterOptions(command).option(
      "--for <name...>",
      "VaultSecrets and ClusterVaultSecrets of a cluster whose rules of validate the value must fit: else it is not stored",
      parseNames([vaultSecretKind, clusterVaultSecretKind]),
    ),
  problemsOf: async (next, flags) => (await import("./check-value.ts")).problemsOf(next, flags),
};

function planCommand(): Command {
  const command = addManifestOptions(new Command("plan")).option(
    "--cluster",
    "compare with the resources of a cluster; the options that select one imply it",
  );
  return addOperatorOption(addKubeconfigOptions(command))
    .description(
      `Check manifests before they are applied, and print what would be written where: names and versions, never values. With a cluster, print what they change in it. Each problem is printed as FILE:LINE: message, and the exit code is then ${HAS_PROBLEMS}. Uses the accounts of vaultsync login.`,
    )
    .addOption(
      new Option(
        "--account <path...>",
        "files of logins, and directories with such files; each connection is compared with the list of its account",
      )
        .env(ACCOUNT_VARIABLE)
        .default(accountDirectory()),
    )
    .addOption(
      new Option(
        "-o, --output <format>",
        "output format; github: annotations of a pull request, sarif: a log for code scanning",
      )
        .choices(["table", "json", "yaml", "github", "sarif"])
        .default("table"),
    )
    .option("--offline", "do not compare the references with the vault")
    .addOption(
      new Option(
        "--validate",
        "read the values, too, and check that they fit the rules of validate, templates and limits",
      ).conflicts("offline"),
    )
    .option(
      "--strict",
      `exit code ${HAS_PROBLEMS} also if references or an access were not checked`,
    )
    .option(
      "--allowed-secret-types <types>",
      "value of this flag of the operator: comma-separated types of Secrets in addition to the default ones",
      parseList,
    )
    .action(async (flags: PlanFlags) => {
      const { plan } = await import("./plan/plan.ts");
      if (flags.validate !== true) return plan(flags);
      return plan(flags, (await import("./local/content-problems.ts")).contentChecks);
    });
}

/** Returns an option that repeats a flag of the operator. */
const modeOption = (name: string): Option =>
  new Option(`--${name} <mode>`, `the --${name} of the operator`)
    .choices(["on", "off"])
    .default("on");

function doctorCommand(): Command {
  return addFormatOption(addOperatorOption(addClusterOptions(new Command("doctor"))))
    .description(
      `Check a set-up step by step, and say how to resolve each failure: CRDs, the operator and its permissions, and the connections of a namespace with credentials, network, TLS, clock, login and references. Network and TLS are those of this machine. The exit code is ${NOT_READY} if a check failed.`,
    )
    .argument(
      "[connection...]",
      "names of connections (default: those of the namespace, and the ClusterVaultConnections that its resources use)",
    )
    .option("--service-account <name>", "ServiceAccount of the operator", "vaultsync")
    .option("--allow-http", "the operator runs with --allow-http")
    .option("--vault-hosts <hosts>", "the --vault-hosts of the operator", parseList)
    .option("--token-audiences <names>", "the --token-audiences of the operator", parseList)
    .option(
      "--max-list-bytes <bytes>",
      "the --max-list-bytes of the operator",
      parseWholeNumber,
      16 * 1024 * 1024,
    )
    .addOption(modeOption("target-watch"))
    .addOption(modeOption("auto-restart"))
    .action(async (names: string[], flags: DoctorFlags) =>
      (await import("./doctor.ts")).doctor(names, flags),
    );
}

function importCommand(): Command {
  const externalSecrets = addManifestOptions(new Command("external-secrets"))
    .description(
      `Convert ExternalSecrets to ${vaultSecretKind.plural}.${API_GROUP}, and ClusterExternalSecrets to ${clusterVaultSecretKind.plural}.${API_GROUP}, printed as YAML. What cannot be carried over is printed as FILE:LINE: message; its resource is suspended, and the exit code is then ${HAS_PROBLEMS}.`,
    )
    .action(async (flags: ImportFlags) =>
      (await import("./import/import.ts")).importExternalSecrets(flags),
    );
  return new Command("import")
    .description("Convert resources of another operator.")
    .addCommand(externalSecrets);
}

const RELEASE_HELP = `
A released Secret or ConfigMap keeps its content, and the labels and annotations
that its resource requested. It loses its owner and all marks of the operator,
so that neither garbage collection deletes it nor an operator changes it. A
released VaultPush loses its finalizer: its entries stay in the vault. The
command can be repeated, also after an interruption. It reads no values.

Examples:
  vaultsync release --all-namespaces
  vaultsync release --all-namespaces --confirm`;

function releaseCommand(): Command {
  return addAllNamespacesOption(addClusterOptions(new Command("release")))
    .description(
      "Detach all targets from their resources before the CRDs are deleted, so that they stay. Without --confirm, print what would be released. No operator may run.",
    )
    .option(
      "--operator-namespace <name>",
      "namespace in which no operator may run (default: all namespaces)",
    )
    .option("--confirm", "release the objects")
    .addHelpText("after", RELEASE_HELP)
    .action(async (flags: ReleaseFlags) =>
      (await import("./release/release.ts")).releaseTargets(flags),
    );
}

/**
 * Returns the definitions of the commands for users of the operator. Each loads its action when it
 * runs.
 */
export function userCommands(): Command[] {
  return [
    statusCommand(),
    syncCommand(),
    acceptCommand(),
    rollbackCommand(),
    resumeCommand(),
    ...updateCommands(),
    ...usageCommands(),
    planCommand(),
    ...localCommands(),
    doctorCommand(),
    importCommand(),
    releaseCommand(),
  ];
}
