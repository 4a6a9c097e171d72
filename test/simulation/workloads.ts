import { isDeepStrictEqual } from "node:util";
import {
  CONTENT_ANNOTATION,
  RESTART_ANNOTATION,
  RESTART_STATE_ANNOTATION,
} from "../../src/operator/api/names.ts";
import type { MergePatch } from "../../src/operator/kube/client/kube-api.ts";
import { workloadDescriptor } from "../../src/operator/controllers/restart/workload.ts";
import { CONFIG_MAPS, type KubeObject, SECRETS } from "../../src/operator/kube/resource.ts";
import { certificate } from "../lab/certificates.ts";
import type { InMemoryApiServer } from "../lab/simulated/api-server/in-memory-api-server.ts";

/** Name of the workloads of each namespace that some resources restart. */
export const WORKLOAD = "web";
/** Name of the ConfigMap and the Secret with certificates in each namespace. */
export const CA_BUNDLE = "vault-ca";
/** Name of the Deployment of each namespace that asks to be restarted for what its pods use. */
export const AUTO_WORKLOAD = "worker";
/** Duration of a rollout, in milliseconds. */
export const ROLLOUT_MS = 3_000;
const { Deployment } = workloadDescriptor;
/** The kinds of the workloads that are named. */
const KINDS = ["Deployment", "StatefulSet", "DaemonSet"] as const;

/** The certificate of an authority that vaults may have. */
const { cert: authority } = certificate("authority");

/** The spec of the pods of the second Deployment. */
const autoPod = {
  containers: [
    {
      envFrom: [{ secretRef: { name: "alpha" } }],
      env: [{ valueFrom: { configMapKeyRef: { name: "alpha" } } }],
    },
  ],
  volumes: [
    { secret: { secretName: "beta" } },
    { projected: { sources: [{ configMap: { name: "gamma" } }] } },
  ],
};
/** The targets that these pods use, `<kind>/<name>`. */
const AUTO_SOURCES: ReadonlySet<string> = new Set([
  "Secret/alpha",
  "ConfigMap/alpha",
  "Secret/beta",
  "ConfigMap/gamma",
]);

/** Reports whether the pods of a Deployment use a target, and it asks to be restarted for that. */
export function asksForRestart(
  { metadata: { name, annotations = {} } }: KubeObject,
  target: { kind: string; name: string },
): boolean {
  const isAuto = name === AUTO_WORKLOAD && annotations[RESTART_ANNOTATION] === "auto";
  return isAuto && AUTO_SOURCES.has(`${target.kind}/${target.name}`);
}

/** Creates the workloads of a namespace that it lacks. */
export function createWorkloads(server: InMemoryApiServer, namespace: string): void {
  for (const kind of KINDS) create(server, kind, namespace, WORKLOAD, {}, { containers: [] });
  create(server, "Deployment", namespace, AUTO_WORKLOAD, { [RESTART_ANNOTATION]: "auto" }, autoPod);
}

function create(
  server: InMemoryApiServer,
  kind: (typeof KINDS)[number],
  namespace: string,
  name: string,
  annotations: object,
  pod: object,
): void {
  if (server.find(workloadDescriptor[kind], { namespace, name }) !== undefined) return;
  const labels = { app: name };
  const template = { metadata: { labels }, spec: pod };
  const metadata = { namespace, name, labels, annotations: { ...annotations } };
  server.create(workloadDescriptor[kind], {
    apiVersion: "apps/v1",
    kind,
    metadata,
    spec: { replicas: 2, template },
  });
}

/**
 * Writes the certificates that some connections of a namespace refer to, in a ConfigMap and in a
 * Secret.
 */
export function putCaBundle(server: InMemoryApiServer, namespace: string, text = authority): void {
  const ref = { namespace, name: CA_BUNDLE };
  const base64 = Buffer.from(text).toString("base64");
  for (const [resource, content] of [
    [CONFIG_MAPS, text],
    [SECRETS, base64],
  ] as const) {
    const before = server.find(resource, ref);
    const data = { "ca.crt": content };
    const object = {
      apiVersion: "v1",
      kind: resource.kind,
      metadata: before?.metadata ?? ref,
      data,
    };
    if (before === undefined) server.create(resource, object);
    else if (!isDeepStrictEqual(before.data, data)) server.replace(resource, object);
  }
}

export function removeCaBundle(server: InMemoryApiServer, namespace: string): void {
  const ref = { namespace, name: CA_BUNDLE };
  for (const resource of [CONFIG_MAPS, SECRETS])
    if (server.find(resource, ref) !== undefined) server.delete(resource, ref);
}

/** Changes of a Deployment by users and tools. */
export const workloadChanges = [
  "annotate",
  "forget",
  "undo",
  "restart",
  "scale",
  "delete",
] as const;
type WorkloadChange = (typeof workloadChanges)[number];

export interface WorkloadCommand {
  readonly type: "workload";
  readonly namespace: string;
  readonly name: string;
  readonly change: WorkloadChange;
}

const template = (annotations: object): MergePatch => ({
  spec: { template: { metadata: { annotations } } },
});

/** Changes a Deployment as users and tools do. @throws StatusError */
export function changeWorkload(
  server: InMemoryApiServer,
  { namespace, name, change }: WorkloadCommand,
): void {
  const ref = { namespace, name };
  const now = server.get(Deployment, ref);
  const { annotations = {} } = now.metadata;
  switch (change) {
    case "annotate":
      server.patch(Deployment, ref, {
        metadata: {
          annotations: {
            [RESTART_ANNOTATION]: annotations[RESTART_ANNOTATION] === "auto" ? null : "auto",
          },
        },
      });
      return;
    case "forget":
      server.patch(Deployment, ref, {
        metadata: { annotations: { [RESTART_STATE_ANNOTATION]: null } },
      });
      return;
    case "undo":
      server.patch(Deployment, ref, template({ [CONTENT_ANNOTATION]: null }));
      return;
    case "restart":
      server.patch(
        Deployment,
        ref,
        template({ "kubectl.kubernetes.io/restartedAt": now.metadata.resourceVersion }),
      );
      return;
    case "scale":
      server.patch(Deployment, ref, {
        spec: { replicas: (now["spec"] as { replicas: number }).replicas === 2 ? 3 : 2 },
      });
      return;
    case "delete":
      server.delete(Deployment, ref);
      createWorkloads(server, namespace);
  }
}
