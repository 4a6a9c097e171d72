import { RESTART_STATE_ANNOTATION } from "../../../src/operator/api/names.ts";
import type { WorkloadKind } from "../../../src/operator/api/rollout-restart.ts";
import { workloadDescriptor } from "../../../src/operator/controllers/restart/workload.ts";
import type { MergePatch } from "../../../src/operator/kube/client/kube-api.ts";
import { readStatus } from "../../../src/operator/sync/stored-status.ts";
import type { RestartStatus } from "../../../src/operator/api/status.ts";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { type KubeObject, apiVersionOf } from "../../../src/operator/kube/resource.ts";
import { isObject } from "../../../src/lib/is-object.ts";
import type { SimulatedOperator } from "./simulated-operator.ts";

const NAMESPACE = "shop";

/** The value at a path of an object of the API server; `undefined` if there is none. */
export function at(object: unknown, ...path: readonly string[]): unknown {
  return path.reduce((value, name) => (isObject(value) ? value[name] : undefined), object);
}

/** The workloads of the namespace `shop`, whose rollouts the test ends. */
export class Workloads {
  /**
   * Times of the restarts by `<kind>/<name>`, in monotonic milliseconds: changes of the annotation
   * of the pod template.
   */
  readonly restarts = new Map<string, number[]>();
  readonly #operator: SimulatedOperator;

  constructor(operator: SimulatedOperator) {
    this.#operator = operator;
    operator.server.onCommit(({ resource, before, after }) => {
      if (resource.group !== "apps" && resource.group !== "argoproj.io") return;
      const name = `${resource.kind}/${after?.metadata.name}`;
      if (
        before === undefined ||
        after === undefined ||
        templateContent(before) === templateContent(after)
      )
        return;
      this.restarts.set(name, [...(this.restarts.get(name) ?? []), operator.clock.monotonic()]);
    });
  }

  /** Creates a workload. `rest` is merged into its `spec`, `metadata` into its metadata. */
  create(
    kind: WorkloadKind,
    name: string,
    { metadata = {}, spec = {} }: { metadata?: object; spec?: object } = {},
  ): KubeObject {
    const resource = workloadDescriptor[kind];
    const template = {
      metadata: { annotations: { note: "theirs" } },
      spec: { containers: [{ name: "app", image: "app" }] },
    };
    const object = {
      apiVersion: apiVersionOf(resource),
      kind,
      metadata: { namespace: NAMESPACE, name, ...metadata },
    };
    return this.#operator.server.create(resource, {
      ...object,
      spec: { replicas: 2, template, ...spec },
    });
  }

  get(kind: WorkloadKind, name: string): KubeObject {
    return this.#operator.server.get(workloadDescriptor[kind], { namespace: NAMESPACE, name });
  }

  delete(kind: WorkloadKind, name: string): void {
    this.#operator.server.delete(workloadDescriptor[kind], { namespace: NAMESPACE, name });
  }

  /** Changes fields of a workload by a merge patch, as another client does. */
  patch(kind: WorkloadKind, name: string, patch: MergePatch): void {
    this.#operator.server.patch(workloadDescriptor[kind], { namespace: NAMESPACE, name }, patch);
  }

  /** Replaces the status of a workload, with the current generation as the observed one. */
  report(kind: WorkloadKind, name: string, status: object): void {
    const { metadata } = this.get(kind, name);
    const { namespace, resourceVersion, generation } = metadata;
    const observedGeneration = kind === "Rollout" ? String(generation) : generation;
    this.#operator.server.replaceStatus(
      workloadDescriptor[kind],
      { namespace, name, resourceVersion },
      { observedGeneration, ...status },
    );
  }

  /** Reports that all replicas of a Deployment have the current template. */
  rollOut(name: string): void {
    this.report("Deployment", name, {
      replicas: 2,
      updatedReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
    });
  }

  /** Number of restarts of a workload. */
  count(kind: WorkloadKind, name: string): number {
    return this.restarts.get(`${kind}/${name}`)?.length ?? 0;
  }

  /** Returns the kinds and outcomes of the restarts that ended, as the metric counts them. */
  async ended(): Promise<string[]> {
    const samples = await this.#operator.samples("vaultsync_restarts_total");
    return [...samples].flatMap(([labels, count]) => {
      const [, kind, outcome] = /kind="(\w+)",outcome="(\w+)"/u.exec(labels) ?? [];
      return Array<string>(count).fill(`${kind} ${outcome}`);
    });
  }

  /** Returns what the status of a VaultSecret shows about workloads. */
  shown(name: string): readonly RestartStatus[] {
    const { status } = this.#operator.server.get(vaultSecretKind, { namespace: NAMESPACE, name });
    return readStatus("VaultSecret", status).restarts ?? [];
  }

  /** Returns the sources that a workload records. */
  recorded(kind: WorkloadKind, name: string): string[] {
    const text = this.get(kind, name).metadata.annotations?.[RESTART_STATE_ANNOTATION];
    const state: unknown = text === undefined ? {} : JSON.parse(text);
    return Object.keys(Object(at(state, "sources")));
  }
}

const templateContent = (object: KubeObject | undefined): unknown =>
  at(object, "spec", "template", "metadata", "annotations", "vaultsync.dev/content");
