import type { KubeApi } from "../../kube/client/kube-api.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { PODS } from "../../kube/resource.ts";
import { type RunningPod, runningPod } from "../../restart/running-pod.ts";

/**
 * Reads the pods of a namespace that use a Secret or ConfigMap; `undefined` if the operator may not.
 * A list takes no permission to watch. It is of the state that the API server has now: one from a
 * cache could lack a pod.
 * @throws KubeError
 */
export async function readPods(
  api: KubeApi,
  namespace: string,
  signal: AbortSignal,
): Promise<RunningPod[] | undefined> {
  const pods = new Map<string, RunningPod>();
  try {
    for await (const { items } of api.list(PODS, { namespace, paged: true }, signal)) {
      for (const object of items) {
        const pod = runningPod(object);
        if (pod !== undefined && pod.uses.size > 0) pods.set(object.metadata.name, pod);
        else pods.delete(object.metadata.name);
      }
    }
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return undefined;
    throw error;
  }
  return [...pods.values()];
}
