import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SERVICE_ACCOUNT_DIRECTORY } from "../../src/operator/kube/credentials/load-credentials.ts";
import type { ApiAccess } from "../../test/lab/control-plane/api-request.ts";
import type { ProcessOptions } from "../../test/lab/real/processes/vaultsync-process.ts";
import { SERVICE_ACCOUNT } from "../../test/lab/real/world.ts";

/**
 * Mounts the ServiceAccount for one process, in a separate mount namespace, and executes the rest
 * of its arguments.
 */
const MOUNT = `mount -t tmpfs tmpfs /var/run && mkdir -p ${SERVICE_ACCOUNT_DIRECTORY} && mount --bind "$0" ${SERVICE_ACCOUNT_DIRECTORY} && exec "$@"`;

/**
 * Returns with what a process on this machine runs as in a pod: it finds its ServiceAccount where
 * the kubelet mounts it, and Node limits its heap as it does in a container with so much memory.
 * Requires user namespaces.
 */
export async function podOptions(access: ApiAccess, directory: string, limitMiB: number) {
  const account = await mkdtemp(join(directory, "service-account-"));
  const files = { token: access.token, "ca.crt": access.ca, namespace: SERVICE_ACCOUNT.namespace };
  for (const [name, content] of Object.entries(files))
    await writeFile(join(account, name), content, { mode: 0o600 });
  const { hostname, port } = new URL(access.server);
  return {
    env: {
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
      NODE_ENV: "production",
    },
    through: ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNT, account],
    // What Node 26 derives from a limit of the container: half of it for old objects, and a 128th
    // for each half of the young ones.
    nodeArgs: [`--max-old-space-size=${limitMiB / 2}`, `--max-semi-space-size=${limitMiB / 128}`],
  } satisfies ProcessOptions;
}
