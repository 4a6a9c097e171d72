import { Command, InvalidArgumentError, Option } from "commander";
import { parseListenAddress } from "../../command-line/options.ts";
import { parseDuration } from "../lib/duration.ts";
import { parseList, parseWholeNumber } from "./options.ts";
import type { RunFlags } from "./run-operator.ts";
import { messageOf } from "../../lib/errors.ts";

function parseInterval(text: string): number {
  try {
    return text === "0" ? 0 : parseDuration(text);
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}

/** An option that is also read from the environment: `--log-level` from `VAULTSYNC_LOG_LEVEL`. */
function option(flags: string, description: string): Option {
  const name = /--([a-z-]+)/.exec(flags)?.[1] ?? "";
  return new Option(flags, description).env(`VAULTSYNC_${name.replaceAll("-", "_").toUpperCase()}`);
}

function memoryOptions(): Option[] {
  return [
    option(
      "--value-cache-bytes <bytes>",
      "size in bytes of the in-memory cache of values that restores changed targets; 0 disables it",
    )
      .argParser(parseWholeNumber)
      .default(16 * 1024 * 1024),
    option(
      "--max-list-bytes <bytes>",
      "length in bytes of the longest list of a vault that is read, at most 256 MiB; it needs about ten times as much memory while it is parsed",
    )
      .argParser(parseWholeNumber)
      .default(16 * 1024 * 1024),
  ];
}

function restartOptions(): Option[] {
  return [
    option(
      "--restart-window <duration>",
      "quiet window: a workload is restarted once, this long after the first change of a Secret or ConfigMap that it uses",
    )
      .argParser(parseInterval)
      .default(30_000, "30s"),
    option(
      "--auto-restart <mode>",
      "off: the annotation vaultsync.dev/restart of workloads is ignored, they are not watched for it, and no resource gets the condition Converged",
    )
      .choices(["on", "off"])
      .default("on"),
    option(
      "--volume-sync <duration>",
      "time within which the kubelets of the cluster renew the files of mounted Secrets and ConfigMaps, for the condition Converged",
    )
      .argParser(parseInterval)
      .default(90_000, "90s"),
  ];
}

function clusterNameOption(): Option {
  return option(
    "--cluster-name <name>",
    "name of the cluster in what connections with spec.reportUse report to their vaults",
  ).default("kubernetes");
}

function operatorOptions(): Option[] {
  return [
    option(
      "--kubeconfig <path>",
      "kubeconfig file (default: KUBECONFIG, the pod's ServiceAccount, then ~/.kube/config)",
    ),
    option(
      "--namespace <name>",
      "namespace of the operator's lease, content key and freeze (default: that of the pod or kubeconfig, then vaultsync-system)",
    ),
    option("--namespaces <names>", "comma-separated namespaces to watch (default: all)").argParser(
      parseList,
    ),
    option(
      "--namespaces-file <path>",
      "file with the names of the namespaces to watch, separated by commas or spaces; read again every 10 s",
    ),
    clusterNameOption(),
    option(
      "--target-watch <mode>",
      "off: Secrets are neither listed nor watched; a changed target is repaired at the next change or --resync",
    )
      .choices(["on", "off"])
      .default("on"),
    option("--no-leader-elect", "no leader election; safe only where no second operator can run"),
    option(
      "--shards <number>",
      "number of parts that all connections are divided into; the replicas share them evenly, so that several work simultaneously",
    )
      .argParser(parseWholeNumber)
      .default(1),
    option("--listen <host:port>", "address that serves /healthz, /readyz and /metrics")
      .argParser(parseListenAddress)
      .default({ host: "0.0.0.0", port: 8080 }, "0.0.0.0:8080"),
    option(
      "--allow-http",
      "permission for vault URLs with http or a loopback address; for development",
    ),
    option(
      "--vault-hosts <hosts>",
      "comma-separated hosts that vault URLs may name, wildcards such as *.example.com included (default: any host)",
    ).argParser(parseList),
    option(
      "--vault-proxy <url>",
      "HTTP proxy for the requests to vaults, by CONNECT; requires --vault-hosts (default: none)",
    ),
    option(
      "--vault-no-proxy <hosts>",
      "comma-separated hosts of vaults that are reached without --vault-proxy",
    )
      .argParser(parseList)
      .default(["*.svc", "*.cluster.local"], "*.svc,*.cluster.local"),
    option(
      "--allowed-secret-types <types>",
      "comma-separated types of Secrets that a VaultSecret may request in addition to the default ones",
    ).argParser(parseList),
    option(
      "--token-audiences <names>",
      "comma-separated audiences of ServiceAccounts' tokens, in addition to the address of each vault; none that another service has, such as the API server",
    ).argParser(parseList),
    ...memoryOptions(),
    option(
      "--concurrency <number>",
      "maximum number of resources that are reconciled in parallel, without those that wait for a vault, and of writes in flight",
    )
      .argParser(parseWholeNumber)
      .default(32),
    ...restartOptions(),
    option(
      "--resync <duration>",
      "interval in which every resource is listed again and reconciled once, changed or not; 0 turns it off",
    )
      .argParser(parseInterval)
      .default(30 * 60_000, "30m"),
    option("--log-level <level>", "minimum log level")
      .choices(["debug", "info", "warn", "error"])
      .default("info"),
  ];
}

/** Returns the definition of `vaultsync operator`. Its action loads the operator. */
export function operatorCommand(): Command {
  const command = new Command("operator").description(
    "Run the operator, in a cluster or with a kubeconfig.",
  );
  for (const each of operatorOptions()) command.addOption(each);
  return command.action(async (flags: RunFlags) =>
    (await import("./run-operator.ts")).runOperator(flags, command),
  );
}
