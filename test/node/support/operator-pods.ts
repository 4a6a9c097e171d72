import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { operatorRelease } from "../../lab/helm/helm.ts";
import type { NodeCluster } from "../../lab/node/node-cluster.ts";
import { isPodReady, podsOf, type Pod } from "./reader.ts";

/** Namespace of the operator's pods. */
export const system = operatorRelease.namespace;

/** Returns the pods of the operator. */
export function operatorPods(cluster: NodeCluster): Promise<Pod[]> {
  return podsOf(cluster, system, "app.kubernetes.io/name=vaultsync");
}

/** Returns which pods of the operator are ready. */
export async function readyOperators(cluster: NodeCluster): Promise<boolean[]> {
  return (await operatorPods(cluster)).map(isPodReady);
}

/** Reports whether both replicas are ready. */
export async function areBothReady(cluster: NodeCluster): Promise<boolean> {
  return isDeepStrictEqual(await readyOperators(cluster), [true, true]);
}

/** Returns the pods of the operator and how often their containers were restarted. */
export async function operatorProcesses(cluster: NodeCluster): Promise<unknown[]> {
  return (await operatorPods(cluster)).map(({ metadata: { uid }, status }) => [
    uid,
    status.containerStatuses[0]?.restartCount,
  ]);
}

const readToken = `
const token = require("node:fs").readFileSync("/var/run/secrets/kubernetes.io/serviceaccount/token", "utf8");
console.log(Buffer.from(token.split(".")[1], "base64url").toString());
`;

const Token = z.object({ jti: z.string(), iat: z.int(), exp: z.int() });

/** Returns the id of the ServiceAccount token in a pod, and its issue and expiry in seconds since 1970. */
export async function tokenOf(
  cluster: NodeCluster,
  { metadata: { name } }: Pod,
): Promise<z.infer<typeof Token>> {
  const command = ["exec", name, "--", "/usr/local/bin/node", "--eval", readToken];
  return Token.parse(JSON.parse(await cluster.kubectlOutput(command, { namespace: system })));
}

const Lease = z.object({ spec: z.object({ holderIdentity: z.string() }) });

/** Returns the pod that holds the Lease. */
export function leadingOperator(cluster: NodeCluster): Promise<Pod> {
  return waitUntil("a pod of the operator leads", async () => {
    const args = ["get", "lease", "vaultsync", "--output=json"];
    const lease = await cluster.kubectlOutput(args, { namespace: system });
    const { holderIdentity } = Lease.parse(JSON.parse(lease)).spec;
    const pods = await operatorPods(cluster);
    return pods.find(({ metadata }) => holderIdentity.startsWith(metadata.name));
  });
}
