import { type ConnectionRef, connectionRefOf } from "../api/connection-key.ts";
import { connectionKinds } from "../api/kinds.ts";
import type { KubeApi } from "../kube/client/kube-api.ts";
import { isKubeError } from "../kube/kube-error.ts";
import type { KubeObject } from "../kube/resource.ts";
import { type Check, checksOf } from "./check.ts";

const idOf = ({ kind, name }: ConnectionRef): string => `${kind}/${name}`;

/** Reports whether a connection exists; `unknown` if the user may not read it. @throws KubeError */
async function isPresent(
  api: KubeApi,
  { kind, name }: ConnectionRef,
  namespace: string,
  signal: AbortSignal,
): Promise<boolean | "unknown"> {
  const resource = connectionKinds[kind];
  try {
    await api.getMetadata(resource, { name, ...(resource.namespaced && { namespace }) }, signal);
    return true;
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return "unknown";
    if (isKubeError(error, "NotFound")) return false;
    throw error;
  }
}

/**
 * Reports the resources of a namespace, or with a target in it, whose connection does not exist.
 * @param known the connections that are checked anyway
 * @throws KubeError
 */
export async function* checkReferred(
  { api, namespace }: { readonly api: KubeApi; readonly namespace: string },
  resources: readonly KubeObject[],
  known: readonly KubeObject[],
  signal: AbortSignal,
): AsyncGenerator<Check> {
  const found = new Map<string, boolean | "unknown">(
    known.map(({ kind, metadata: { name } }) => [`${kind}/${name}`, true]),
  );
  for (const object of resources) {
    const ref = connectionRefOf(object["spec"]);
    if (ref === undefined) continue;
    const id = idOf(ref);
    if (!found.has(id)) found.set(id, await isPresent(api, ref, namespace, signal));
    if (found.get(id) !== false) continue;
    const where = connectionKinds[ref.kind].namespaced ? ` in namespace ${namespace}` : "";
    yield checksOf(`${object.kind.toLowerCase()}/${object.metadata.name}`).failed(
      "connection",
      `there is no ${ref.kind} ${ref.name}${where}`,
      "create it, or correct spec.connectionRef",
    );
  }
}
