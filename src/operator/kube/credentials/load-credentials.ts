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
  /** Context of the kubeconfig; its current one by default. */
  readonly context?: string | undefined;
  /** User to impersonate. */
  readonly as?: string | undefined;
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
  const source = await findSource(options);
  const { as, clock = systemClock } = options;
  return new Credentials(as === undefined ? source : impersonating(source, as), clock);
}

/** Returns a source whose requests are made as another user. */
function impersonating(source: AccessSource, user: string): AccessSource {
  return {
    ...source,
    async load(fresh) {
      const { headers, tls } = await source.load(fresh);
      return { headers: new Redacted({ ...headers.reveal(), "impersonate-user": user }), tls };
    },
  };
}

async function findSource(options: CredentialsOptions): Promise<AccessSource> {
  const {
    kubeconfig,
    context,
    env = process.env,
    serviceAccountDirectory = SERVICE_ACCOUNT_DIRECTORY,
  } = options;
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (!kubeconfig && !context && !env["KUBECONFIG"] && host && port)
    return inClusterSource({ host, port }, serviceAccountDirectory);
  const { kubeconfigSource } = await import("./kubeconfig.ts");
  return kubeconfigSource(kubeconfig || undefined, context);
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
