import { workloadDescriptor } from "../../src/operator/controllers/restart/workload.ts";
import type { InMemoryApiServer } from "../support/kube/in-memory/in-memory-api-server.ts";
import { simulateWorkloads } from "../support/kube/in-memory/simulate-workloads.ts";

/** Name of the Deployment of each namespace, which some resources restart. */
export const WORKLOAD = "web";
/** Duration of a rollout, in milliseconds. */
const ROLLOUT_MS = 3_000;
const { Deployment } = workloadDescriptor;

/** Creates the Deployment of each namespace, and rolls out its changes. */
export function createWorkloads(server: InMemoryApiServer, namespaces: readonly string[]): void {
  simulateWorkloads(server, ROLLOUT_MS);
  for (const namespace of namespaces) {
    const template = { metadata: { labels: { app: WORKLOAD } }, spec: { containers: [] } };
    const metadata = { namespace, name: WORKLOAD };
    server.create(Deployment, { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { replicas: 2, template } });
  }
}
