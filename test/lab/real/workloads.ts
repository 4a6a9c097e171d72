import { z } from "zod";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { waitUntil } from "../clock/wait-until.ts";

const list = z.object({
  items: z.array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) })),
});
const pod = z.looseObject({
  metadata: z.looseObject({ name: z.string(), deletionTimestamp: z.string().optional() }),
  status: z.looseObject({ phase: z.string().optional() }).optional(),
});

/** A minimal CRD of Argo Rollouts: any spec and status. */
const rolloutCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "rollouts.argoproj.io" },
  spec: {
    group: "argoproj.io",
    scope: "Namespaced",
    names: { kind: "Rollout", listKind: "RolloutList", plural: "rollouts", singular: "rollout" },
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    ],
  },
};

/** Installs the CRD of Argo Rollouts, once for all tests, and waits until it is served. */
export async function installRollouts(plane: ControlPlane): Promise<void> {
  await plane.kubectl(["apply", "--server-side", "-f", "-"], { input: JSON.stringify(rolloutCrd) });
  const wait = ["wait", "--for=condition=Established", "--timeout=60s"];
  await plane.kubectlOutput([...wait, "crd/rollouts.argoproj.io"]);
  const path = "/apis/argoproj.io/v1alpha1/rollouts";
  await waitUntil(
    "rollouts are served",
    async () => (await plane.request("GET", path)).status === 200,
  );
}

const groupOf = (kind: string): string => (kind === "Rollout" ? "argoproj.io/v1alpha1" : "apps/v1");

/** A workload whose pods read the Secrets by `envFrom`. */
export function workload(
  kind: string,
  name: string,
  more: { annotations?: object; secrets?: readonly string[] } = {},
): object {
  const { annotations, secrets = [] } = more;
  const labels = { app: name };
  const envFrom = secrets.map((secret) => ({ secretRef: { name: secret } }));
  return {
    apiVersion: groupOf(kind),
    kind,
    metadata: { name, labels, ...(annotations && { annotations }) },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "app", image: "example.com/app", envFrom }] },
      },
      ...(kind !== "DaemonSet" && { replicas: 1 }),
      ...(kind === "StatefulSet" && { serviceName: name }),
    },
  };
}

/** A pod without a controller that reads a Secret by `envFrom`. */
export const barePod = (name: string, secret: string): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    containers: [
      { name: "app", image: "example.com/app", envFrom: [{ secretRef: { name: secret } }] },
    ],
  },
});

/**
 * The workloads of one namespace, as their controllers run them, with pods that a test makes ready.
 */
export class Workloads {
  readonly #plane: ControlPlane;
  readonly #namespace: string;

  constructor(plane: ControlPlane, namespace: string) {
    this.#plane = plane;
    this.#namespace = namespace;
  }

  #path(kind: string, rest = ""): string {
    return `/apis/${groupOf(kind)}/namespaces/${this.#namespace}/${kind.toLowerCase()}s${rest}`;
  }

  /** Returns the workload. */
  async get(kind: string, name: string): Promise<z.output<typeof workloadSchema>> {
    return workloadSchema.parse(
      JSON.parse((await this.#plane.request("GET", this.#path(kind, `/${name}`))).body),
    );
  }

  /** Changes the number of replicas through the scale subresource, as an autoscaler does. */
  async scale(name: string, replicas: number): Promise<void> {
    const metadata = { name, namespace: this.#namespace };
    const scale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata, spec: { replicas } };
    const { status, body } = await this.#plane.request(
      "PUT",
      this.#path("Deployment", `/${name}/scale`),
      scale,
    );
    if (status !== 200) throw new Error(`scale ${name}: ${status} ${body}`);
  }

  /** Replaces the status of a Rollout. */
  async report(name: string, status: object): Promise<void> {
    const rollout = await this.get("Rollout", name);
    const response = await this.#plane.request("PUT", this.#path("Rollout", `/${name}/status`), {
      ...rollout,
      status,
    });
    if (response.status !== 200) throw new Error(`status of ${name}: ${response.status}`);
  }

  /** Returns the number of pod templates that a Deployment has had. */
  async templates(name: string): Promise<number> {
    const path = `/apis/apps/v1/namespaces/${this.#namespace}/replicasets?labelSelector=app%3D${name}`;
    return list.parse(JSON.parse((await this.#plane.request("GET", path)).body)).items.length;
  }

  /** Makes all pods ready, as a kubelet does, until the returned handle is disposed. */
  runPods(): AsyncDisposable {
    const stop = new AbortController();
    const running = this.#runPods(stop.signal);
    return {
      [Symbol.asyncDispose]: () => {
        stop.abort();
        return running;
      },
    };
  }

  async #runPods(signal: AbortSignal): Promise<void> {
    const path = `/api/v1/namespaces/${this.#namespace}/pods`;
    while (!signal.aborted) {
      const { items } = list.parse(JSON.parse((await this.#plane.request("GET", path)).body));
      for (const item of items) {
        const { metadata, status } = pod.parse(item);
        if (status?.phase === "Running" || metadata.deletionTimestamp !== undefined) continue;
        const conditions = [
          { type: "Ready", status: "True", lastTransitionTime: new Date().toISOString() },
        ];
        await this.#plane.request("PUT", `${path}/${metadata.name}/status`, {
          ...item,
          status: { phase: "Running", conditions },
        });
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

const workloadSchema = z.looseObject({
  metadata: z.looseObject({
    annotations: z.record(z.string(), z.string()).default({}),
    generation: z.number(),
  }),
  spec: z.looseObject({
    replicas: z.number().optional(),
    template: z.looseObject({
      metadata: z.looseObject({ annotations: z.record(z.string(), z.string()).default({}) }),
    }),
  }),
});
