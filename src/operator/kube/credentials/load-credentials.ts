import { systemClock, type Clock } from "../../../lib/clock.ts";
import { Credentials, type AccessSource } from "./credentials.ts";
import { inClusterSource, SERVICE_ACCOUNT_DIRECTORY } from "./in-cluster.ts";

export interface CredentialsOptions {
  /** Path of a kubeconfig. */
  readonly kubeconfig?: string | undefined;
  readonly clock?: Clock;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly serviceAccountDirectory?: string;
}

/**
 * Loads the credentials for the API server from the first available source, in the order of controller-runtime: the given
 * kubeconfig, `KUBECONFIG`, the pod's own ServiceAccount, the kubeconfig in the home directory.
 *
 * @throws KubeConfigError when no source is available or the kubeconfig is not usable
 */
export async function loadCredentials(options: CredentialsOptions = {}): Promise<Credentials> {
  return new Credentials(await findSource(options), options.clock ?? systemClock);
}

async function findSource(options: CredentialsOptions): Promise<AccessSource> {
  const { kubeconfig, env = process.env, serviceAccountDirectory = SERVICE_ACCOUNT_DIRECTORY } = options;
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (!kubeconfig && !env["KUBECONFIG"] && host && port) return inClusterSource({ host, port }, serviceAccountDirectory);
  const { kubeconfigSource } = await import("./kubeconfig.ts");
  return kubeconfigSource(kubeconfig || undefined);
}
