import { type Command, Option } from "commander";
import { systemClock } from "../../../lib/clock.ts";
import { FIELD_MANAGER } from "../../api/names.ts";
import { KubeClient } from "../../kube/client/kube-client.ts";
import { loadCredentials } from "../../kube/credentials/load-credentials.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { ALL_NAMESPACES } from "../../kube/resource.ts";

/** Options that select a cluster and a namespace, named as in kubectl. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
}

/** Adds the options that select a cluster and one namespace. */
export function addClusterOptions(command: Command): Command {
  return command
    .option(
      "--kubeconfig <path>",
      "kubeconfig file (default: KUBECONFIG, the pod's ServiceAccount, then ~/.kube/config)",
    )
    .option(
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

/** A client of the cluster's API server. */
export interface Cluster {
  readonly api: KubeClient;
  /** One namespace, or `ALL_NAMESPACES`. */
  readonly namespace: string;
}

/**
 * Runs `action` with a client of the selected cluster, and closes the client.
 * @throws Error that says what to do, for the failures that a user of a command line can resolve
 */
export async function withCluster<T>(
  flags: ClusterFlags,
  action: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const credentials = await loadCredentials({ kubeconfig: flags.kubeconfig });
  const own = flags.namespace ?? credentials.namespace ?? "default";
  await using api = new KubeClient({
    credentials,
    clock: systemClock,
    fieldManager: FIELD_MANAGER,
  });
  try {
    return await action({ api, namespace: flags.allNamespaces === true ? ALL_NAMESPACES : own });
  } catch (error) {
    throw explained(error, credentials.server);
  }
}

/** Returns the error with its remedy, if there is one. */
function explained(error: unknown, { host }: URL): unknown {
  if (isKubeError(error, "NotServed"))
    return new Error(
      `${host} does not serve vaultsync.dev/v1alpha1: install the CRDs with kubectl apply -k crds`,
    );
  if (isKubeError(error, "Forbidden"))
    return new Error(
      `${error.message}: request the permission to get, list and watch vaultsync.dev resources, or use --namespace`,
    );
  if (isKubeError(error, "Unauthorized"))
    return new Error(`${host} rejected the credentials: log in to the cluster again`);
  if (isKubeError(error, "Unavailable", "Timeout"))
    return new Error(
      `no response from the API server ${host}: check the kubeconfig's server and the network (${error.message})`,
    );
  return error;
}
