import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isIPv6 } from "node:net";
import { Redacted } from "../../../lib/redacted.ts";
import type { Access, AccessSource } from "./credentials.ts";

/** The directory at which the kubelet mounts the ServiceAccount. */
export const SERVICE_ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Returns the access of the pod's own ServiceAccount. It needs no client library: loading @kubernetes/client-node costs some 80
 * MB.
 *
 * @param server host and port from `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`
 */
export async function inClusterSource(server: { host: string; port: string }, directory: string): Promise<AccessSource> {
  const host = isIPv6(server.host) ? `[${server.host}]` : server.host;
  return {
    server: new URL(`https://${host}:${server.port}`),
    namespace: await readFile(join(directory, "namespace"), "utf8").then(
      (text) => text.trim(),
      () => undefined,
    ),
    async load(): Promise<Access> {
      const [token, ca] = await Promise.all(["token", "ca.crt"].map((file) => readFile(join(directory, file), "utf8")));
      return {
        headers: new Redacted({ authorization: `Bearer ${(token ?? "").trim()}` }),
        tls: new Redacted(ca === undefined ? {} : { ca }),
      };
    },
  };
}
