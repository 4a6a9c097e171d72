import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { systemClock, type Clock } from "../../../lib/clock.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { type Access, type AccessSource, Credentials } from "./credentials.ts";

/** The directory at which the kubelet mounts the ServiceAccount. */
export const SERVICE_ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface CredentialsOptions {
  /** Path of a kubeconfig. */
  readonly kubeconfig?: string | undefined;
  readonly clock?: Clock;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly serviceAccountDirectory?: string;
}

/**
 * Loads the credentials for the API server from the first available source, in the order of
 * controller-runtime: the given kubeconfig, `KUBECONFIG`, the pod's own ServiceAccount, the
 * kubeconfig in the home directory.
 *
 * @throws KubeConfigError when no source is available or the kubeconfig is not usable
 */
export async function loadCredentials(options: CredentialsOptions = {}): Promise<Credentials> {
  return new Credentials(await findSource(options), options.clock ?? systemClock);
}

async function findSource(options: CredentialsOptions): Promise<AccessSource> {
  const {
    kubeconfig,
    env = process.env,
    serviceAccountDirectory = SERVICE_ACCOUNT_DIRECTORY,
  } = options;
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (!kubeconfig && !env["KUBECONFIG"] && host && port)
    return inClusterSource({ host, port }, serviceAccountDirectory);
  const { kubeconfigSource } = await import("./kubeconfig.ts");
  return kubeconfigSource(kubeconfig || undefined);
}

/**
 * Returns the access of the pod's own ServiceAccount. It needs no client library: loading
 * @kubernetes/client-node costs some 80 MB.
 *
 * @param server host and port from `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`
 */
async function inClusterSource(
  server: { host: string; port: string },
  directory: string,
): Promise<AccessSource> {
  const host = isIPv6(server.host) ? `[${server.host}]` : server.host;
  return {
    server: new URL(`https://${host}:${server.port}`),
    namespace: await readFile(join(directory, "namespace"), "utf8").then(
      (text) => text.trim(),
      () => undefined,
    ),
    async load(): Promise<Access> {
      const [token, ca] = await Promise.all(
        ["token", "ca.crt"].map((file) => readFile(join(directory, file), "utf8")),
      );
      return {
        headers: new Redacted({ authorization: `Bearer ${(token ?? "").trim()}` }),
        tls: new Redacted(ca === undefined ? {} : { ca }),
      };
    },
  };
}
