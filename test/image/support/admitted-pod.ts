import { join } from "node:path";
import { z } from "zod";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";

const overlay = join(import.meta.dirname, "../../../deploy/overlays/cluster-wide");

const Source = z.union([
  z.strictObject({
    serviceAccountToken: z.object({
      path: z.string(),
      expirationSeconds: z.int(),
      audience: z.string().optional(),
    }),
  }),
  z.strictObject({
    configMap: z.object({
      name: z.string(),
      items: z.array(z.object({ key: z.string(), path: z.string() })),
    }),
  }),
  z.strictObject({
    downwardAPI: z.object({
      items: z.array(
        z.object({
          path: z.string(),
          fieldRef: z.object({ fieldPath: z.literal("metadata.namespace") }),
        }),
      ),
    }),
  }),
]);

const Container = z.object({
  args: z.array(z.string()),
  env: z.array(z.strictObject({ name: z.string(), value: z.string() })).default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.int() })),
  startupProbe: z.object({ httpGet: z.object({ path: z.literal("/healthz") }) }),
  readinessProbe: z.object({ httpGet: z.object({ path: z.literal("/readyz") }) }),
  resources: z.object({ limits: z.object({ memory: z.string() }) }),
  // What ConfinedContainer does: a pod that asks for anything else is not what the test runs.
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal("ALL")]) }),
  }),
  volumeMounts: z.tuple([
    z.object({ name: z.string(), mountPath: z.string(), readOnly: z.literal(true) }),
  ]),
});

/** The parts of the operator's pod that a kubelet needs. */
export const AdmittedPod = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string(), uid: z.string() }),
  spec: z.object({
    serviceAccountName: z.string(),
    terminationGracePeriodSeconds: z.int(),
    securityContext: z.strictObject({
      runAsNonRoot: z.literal(true),
      runAsUser: z.int(),
      runAsGroup: z.int(),
      seccompProfile: z.strictObject({ type: z.literal("RuntimeDefault") }),
    }),
    containers: z.tuple([Container]),
    volumes: z.tuple([
      z.object({ name: z.string(), projected: z.object({ sources: z.array(Source) }) }),
    ]),
  }),
});
export type AdmittedPod = z.infer<typeof AdmittedPod>;

/**
 * Installs the operator as a user does, and returns the pod that the API server has admitted for
 * its Deployment. The pod stays pending because there is no node.
 */
export async function installOperator(controlPlane: ControlPlane): Promise<AdmittedPod> {
  const applied = await controlPlane.kubectl(["apply", "--server-side", "--kustomize", overlay]);
  if (applied.code !== 0) throw new Error(applied.stderr);
  const get = [
    "get",
    "pods",
    "--namespace=vaultsync-system",
    "--selector=app.kubernetes.io/name=vaultsync",
    "--output=json",
  ];
  const Pods = z.object({ items: z.array(z.unknown()) });
  return waitUntil(
    "the operator's pod is admitted",
    async () => {
      const [pod] = Pods.parse(JSON.parse((await controlPlane.kubectl(get)).stdout)).items;
      return pod === undefined ? undefined : AdmittedPod.parse(pod);
    },
    60_000,
  );
}
