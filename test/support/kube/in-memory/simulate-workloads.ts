import { workloadDescriptor } from "../../../../src/operator/controllers/restart/workload.ts";
import type { KubeObject } from "../../../../src/operator/kube/resource.ts";
import type { InMemoryApiServer } from "./in-memory-api-server.ts";

const { Deployment } = workloadDescriptor;

/** Rolls out every new generation of a Deployment, as its controller does, `ms` after the change. */
export function simulateWorkloads(server: InMemoryApiServer, ms: number): Disposable {
  return server.onCommit(({ resource, after }) => {
    if (resource.kind !== Deployment.kind || after === undefined || isObserved(after)) return;
    const { namespace, name } = after.metadata;
    server.clock.timer(ms, () => {
      const current = server.find(Deployment, { namespace, name });
      if (current === undefined || isObserved(current)) return;
      const { generation, resourceVersion } = current.metadata;
      const { replicas = 1 } = current["spec"] as { readonly replicas?: number };
      const counts = { replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas };
      const controller = { user: "deployment-controller", fieldManager: "kube-controller-manager" };
      server.replaceStatus(
        Deployment,
        { namespace, name, resourceVersion },
        { observedGeneration: generation, ...counts },
        controller,
      );
    });
  });
}

const isObserved = ({ metadata, status }: KubeObject): boolean =>
  (status as { readonly observedGeneration?: number } | undefined)?.observedGeneration === metadata.generation;
