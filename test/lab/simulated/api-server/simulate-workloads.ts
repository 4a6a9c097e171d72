import { workloadDescriptor } from "../../../../src/operator/controllers/restart/workload.ts";
import type { KubeObject, ResourceDescriptor } from "../../../../src/operator/kube/resource.ts";
import type { InMemoryApiServer } from "./in-memory-api-server.ts";

/** The kinds whose controllers are simulated. The controller of a Rollout is a separate program. */
const kinds: readonly ResourceDescriptor[] = [
  workloadDescriptor.Deployment,
  workloadDescriptor.StatefulSet,
  workloadDescriptor.DaemonSet,
];

/** Rolls out every new generation of a workload, as its controller does, `ms` after the change. */
export function simulateWorkloads(server: InMemoryApiServer, ms: number): Disposable {
  return server.onCommit(({ resource: { group, kind }, after }) => {
    const resource = kinds.find((one) => one.group === group && one.kind === kind);
    if (resource === undefined || after === undefined || isObserved(after)) return;
    const { namespace, name } = after.metadata;
    server.clock.timer(ms, () => {
      const current = server.find(resource, { namespace, name });
      if (current === undefined || isObserved(current)) return;
      const { generation, resourceVersion } = current.metadata;
      const controller = {
        user: `${kind.toLowerCase()}-controller`,
        fieldManager: "kube-controller-manager",
      };
      const status = { observedGeneration: generation, ...rolledOut(current) };
      server.replaceStatus(resource, { namespace, name, resourceVersion }, status, controller);
    });
  });
}

/** Returns the counts of a workload whose pods are all up to date. */
function rolledOut({ kind, spec, metadata: { generation } }: KubeObject): object {
  const { replicas = 1 } = spec as { readonly replicas?: number };
  if (kind === "DaemonSet")
    return {
      desiredNumberScheduled: 1,
      currentNumberScheduled: 1,
      updatedNumberScheduled: 1,
      numberAvailable: 1,
      numberReady: 1,
    };
  const counts = {
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
  };
  const revision = `${generation}`;
  return kind === "StatefulSet"
    ? { ...counts, currentRevision: revision, updateRevision: revision }
    : counts;
}

const isObserved = ({ metadata, status }: KubeObject): boolean =>
  (status as { readonly observedGeneration?: number } | undefined)?.observedGeneration ===
  metadata.generation;
