import { type KubeObject, PODS } from "../../../src/operator/kube/resource.ts";
import type { SimulatedOperator } from "./simulated-operator.ts";

/** The Secrets and ConfigMaps that the container of a pod uses, each as `<kind>/<name>`. */
export interface PodParts {
  readonly namespace?: string;
  /** `<kind>/<name>` of the controller; none by default. For a Deployment, its ReplicaSet. */
  readonly owner?: string;
  /** Ending of the name of the ReplicaSet. */
  readonly hash?: string;
  /** Name of its node; none by default. */
  readonly node?: string;
  readonly env?: readonly string[];
  readonly volumes?: readonly string[];
  readonly subPaths?: readonly string[];
  readonly pull?: readonly string[];
  /** The container waits: it has not started. */
  readonly isWaiting?: boolean;
  /** The pod is not ready. */
  readonly isUnready?: boolean;
}

interface PodStatus {
  readonly containerStatuses?: readonly {
    readonly state: object;
    readonly restartCount?: number;
  }[];
}

const refOf = (target: string): [kind: string, name: string] => {
  const [kind = "", name = ""] = target.split("/");
  return [kind, name];
};

const environment = (target: string): object => {
  const [kind, name] = refOf(target);
  return kind === "Secret" ? { secretRef: { name } } : { configMapRef: { name } };
};

function volume(target: string, name: string): object {
  const [kind, of] = refOf(target);
  return kind === "Secret"
    ? { name, secret: { secretName: of } }
    : { name, configMap: { name: of } };
}

/** Returns the spec of a pod with one container. */
function podSpecOf({ node, env = [], volumes = [], subPaths = [], pull = [] }: PodParts): object {
  return {
    ...(node !== undefined && { nodeName: node }),
    containers: [
      {
        name: "app",
        image: "app",
        envFrom: env.map(environment),
        volumeMounts: [
          ...volumes.map((_, n) => ({ name: `volume-${n}`, mountPath: `/${n}` })),
          ...subPaths.map((_, n) => ({ name: `part-${n}`, mountPath: `/part-${n}`, subPath: "x" })),
        ],
      },
    ],
    volumes: [
      ...volumes.map((one, n) => volume(one, `volume-${n}`)),
      ...subPaths.map((one, n) => volume(one, `part-${n}`)),
    ],
    imagePullSecrets: pull.map((one) => ({ name: refOf(one)[1] })),
  };
}

function metadataOf(name: string, { namespace = "shop", owner, hash }: PodParts): object {
  if (owner === undefined) return { namespace, name };
  const [kind, of] = refOf(owner);
  const isReplicated = kind === "Deployment";
  const controller = isReplicated
    ? { kind: "ReplicaSet", name: `${of}-${hash}` }
    : { kind, name: of };
  const reference = { apiVersion: "apps/v1", uid: `uid-of-${of}`, controller: true, ...controller };
  return {
    namespace,
    name,
    ...(isReplicated && { labels: { "pod-template-hash": hash } }),
    ownerReferences: [reference],
    // No garbage collector follows these owners.
    finalizers: ["example.com/test"],
  };
}

/** The pods of a simulated cluster: a test does what their controllers and kubelets do. */
export class SimulatedPods {
  readonly #operator: SimulatedOperator;

  constructor(operator: SimulatedOperator) {
    this.#operator = operator;
  }

  /** Creates a pod whose container starts immediately, unless it waits. */
  create(name: string, parts: PodParts = {}): KubeObject {
    const { server } = this.#operator;
    const startTime = this.#now();
    const state =
      parts.isWaiting === true ? { waiting: {} } : { running: { startedAt: startTime } };
    const isReady = parts.isWaiting !== true && parts.isUnready !== true;
    const conditions = [{ type: "Ready", status: isReady ? "True" : "False" }];
    return server.create(PODS, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: metadataOf(name, parts) as KubeObject["metadata"],
      spec: podSpecOf(parts),
      status: {
        phase: parts.isWaiting === true ? "Pending" : "Running",
        startTime,
        conditions,
        containerStatuses: [{ name: "app", state }],
      },
    });
  }

  /** Starts the container of a pod again, or for the first time. */
  startContainer(name: string, namespace = "shop"): void {
    const ref = { namespace, name };
    const { status: former } = this.#operator.server.get(PODS, ref) as { status?: PodStatus };
    const [before] = former?.containerStatuses ?? [];
    const restartCount = (before?.restartCount ?? 0) + ("running" in (before?.state ?? {}) ? 1 : 0);
    const state = { running: { startedAt: this.#now() } };
    const status = {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [{ name: "app", state, restartCount }],
    };
    this.#operator.server.patch(PODS, ref, { status });
  }

  /** Ends the container of a pod. The pod remains. */
  complete(name: string, namespace = "shop"): void {
    this.#operator.server.patch(PODS, { namespace, name }, { status: { phase: "Succeeded" } });
  }

  /** Deletes a pod. It terminates until it is removed. */
  terminate(name: string, namespace = "shop"): void {
    const ref = { namespace, name };
    const { finalizers = [] } = this.#operator.server.get(PODS, ref).metadata;
    if (finalizers.length === 0)
      this.#operator.server.patch(PODS, ref, { metadata: { finalizers: ["example.com/test"] } });
    this.#operator.server.delete(PODS, ref);
  }

  /** Removes a pod. */
  remove(name: string, namespace = "shop"): void {
    this.#operator.server.erase(PODS, { namespace, name });
  }

  #now(): string {
    return new Date(this.#operator.clock.now()).toISOString().replace(/\.\d+/u, "");
  }
}
