import { readTimestamp } from "../../protocol/read-timestamp.ts";
import { type Command, InvalidArgumentError, Option } from "commander";

/** Exit code if an object is not ready; 1 and 2 are a failure and wrong usage. */
export const NOT_READY = 3;

/** Exit code if a manifest has a problem; 1 and 2 are a failure and wrong usage. */
export const HAS_PROBLEMS = 3;

/** Flags that select a cluster and a namespace, named as in kubectl. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly as?: string;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
}

/** Adds the options that select a cluster. */
export function addKubeconfigOptions(command: Command): Command {
  return command
    .option(
      "--kubeconfig <path>",
      "kubeconfig file (default: KUBECONFIG, the pod's ServiceAccount, then ~/.kube/config)",
    )
    .option("--context <name>", "context of the kubeconfig (default: its current one)")
    .option("--as <user>", "user to impersonate");
}

/** Adds the options that select a cluster and one namespace. */
export function addClusterOptions(command: Command): Command {
  return addKubeconfigOptions(command).option(
    "-n, --namespace <name>",
    "namespace (default: that of the pod or of the kubeconfig's context, then default)",
  );
}

/** Adds the option that selects all namespaces instead of one. */
export function addAllNamespacesOption(command: Command): Command {
  return command.addOption(
    new Option("-A, --all-namespaces", "all namespaces").conflicts("namespace"),
  );
}

/** Adds the option for the namespace of the operator. */
export const addOperatorOption = (command: Command): Command =>
  command.option("--operator-namespace <name>", "namespace of the operator", "vaultsync-system");

/** Adds the options that select manifests. */
export function addManifestOptions(command: Command): Command {
  return command
    .requiredOption(
      "-f, --filename <path...>",
      "files and directories of manifests; - is standard input",
    )
    .option("-n, --namespace <name>", "namespace of objects without one", "default");
}

/** Parses a comma-separated list. */
export const parseList = (text: string): string[] => text.split(",").map((part) => part.trim());

/** Parses the value of an option that is a whole number. @throws InvalidArgumentError */
export function parseWholeNumber(text: string): number {
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError("expected a whole number of at least 0");
  return value;
}

/** Parses a time in seconds, with or without the unit. @throws InvalidArgumentError */
export function parseSeconds(text: string): number {
  const [, seconds] = /^([1-9][0-9]{0,4})s?$/u.exec(text) ?? [];
  if (seconds === undefined) throw new InvalidArgumentError("expected seconds, such as 60s.");
  return Number(seconds);
}

/** Parses RFC 3339 and returns milliseconds since the epoch. @throws InvalidArgumentError */
export function parseTime(text: string): number {
  const time = readTimestamp(text);
  if (time === undefined)
    throw new InvalidArgumentError("expected a time, such as 2026-12-24T06:00:00Z.");
  return time;
}

/** Parses a version of an entry. @throws InvalidArgumentError */
export function parseVersion(text: string): number {
  const version = parseWholeNumber(text);
  if (version < 1) throw new InvalidArgumentError("expected a version, such as 3.");
  return version;
}
