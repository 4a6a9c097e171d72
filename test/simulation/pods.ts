import {
  CONFIG_MAPS,
  type KubeObject,
  PODS,
  type ResourceDescriptor,
  SECRETS,
} from "../../src/operator/kube/resource.ts";
import { workloadDescriptor } from "../../src/operator/controllers/restart/workload.ts";
import type { Change } from "../lab/simulated/api-server/collection.ts";
import type { InMemoryApiServer } from "../lab/simulated/api-server/in-memory-api-server.ts";
import { AUTO_WORKLOAD, ROLLOUT_MS } from "./workloads.ts";

/** Name of the Secret and the ConfigMap that the pods read by env. */
const READ = "alpha";
/** Time in milliseconds for which every second pod terminates. */
const STUCK_MS = 240_000;
const KEPT = 50;

const read: readonly ResourceDescriptor[] = [SECRETS, CONFIG_MAPS];

/** The bytes of an object as of a version of the API server; `undefined` if it did not exist. */
interface Snapshot {
  readonly version: number;
  readonly text: string | undefined;
}

const textOf = (object: KubeObject | undefined): string | undefined =>
  object && JSON.stringify([object["data"], object["binaryData"]]);

const keyOf = (namespace: string | undefined, kind: string): string => `${namespace} ${kind}`;

/**
 * One pod of the Deployment that asks for restarts in each namespace, with the bytes that it read
 * at its start. A new template replaces the pod. Every second one takes minutes to terminate.
 */
export class SimulationPods {
  readonly #server: InMemoryApiServer;
  readonly #history = new Map<string, Snapshot[]>();
  /** By uid of the pod, and kind of the object. */
  readonly #read = new Map<string, ReadonlyMap<string, string | undefined>>();
  #count = 0;

  constructor(server: InMemoryApiServer) {
    this.#server = server;
    server.onCommit((change) => this.#follow(change));
  }

  /**
   * Returns the pods of a namespace that read other bytes of a target than it has had since a
   * version.
   */
  outdated(namespace: string, kind: string, name: string, since: number): string[] {
    if (name !== READ) return [];
    const history = this.#history.get(keyOf(namespace, kind)) ?? [];
    const first = history.findLastIndex(({ version }) => version <= since);
    const allowed = new Set(history.slice(Math.max(0, first)).map(({ text }) => text));
    return this.#podsOf(namespace).flatMap(({ metadata }) => {
      const text = this.#read.get(metadata.uid ?? "")?.get(kind);
      return allowed.has(text) ? [] : [metadata.name];
    });
  }

  #podsOf(namespace: string): KubeObject[] {
    return this.#server.all(PODS).filter(({ metadata }) => metadata.namespace === namespace);
  }

  #follow({ resource, before, after, version }: Change): void {
    const { namespace = "", name } = (after ?? before)!.metadata;
    if (name === READ && read.some(({ kind }) => kind === resource.kind)) {
      const key = keyOf(namespace, resource.kind);
      const known = this.#history.get(key) ?? [];
      const text = textOf(after);
      if (known.at(-1)?.text !== text)
        this.#history.set(key, [...known.slice(-KEPT), { version, text }]);
    }
    const { kind } = workloadDescriptor.Deployment;
    if (resource.kind !== kind || name !== AUTO_WORKLOAD || after === undefined) return;
    const isNew = JSON.stringify(templateOf(before)) !== JSON.stringify(templateOf(after));
    if (isNew) this.#server.clock.timer(ROLLOUT_MS, () => this.#replace(namespace, after));
  }

  #replace(namespace: string, { spec }: KubeObject): void {
    if (
      this.#server.find(workloadDescriptor.Deployment, { namespace, name: AUTO_WORKLOAD }) ===
      undefined
    )
      return;
    for (const { metadata } of this.#podsOf(namespace)) this.#end(metadata);
    this.#count += 1;
    const { template } = spec as { readonly template: { readonly spec: object } };
    const startTime = new Date(this.#server.clock.now()).toISOString().replace(/\.\d+/u, "");
    const isStuck = this.#count % 2 === 0;
    const name = `${AUTO_WORKLOAD}-${this.#count}`;
    const finalizers = isStuck ? ["example.com/stuck"] : [];
    const pod = this.#server.create(PODS, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace, name, finalizers },
      spec: template.spec,
      status: {
        phase: "Running",
        startTime,
        conditions: [{ type: "Ready", status: "True" }],
        containerStatuses: [{ name: "", state: { running: { startedAt: startTime } } }],
      },
    });
    const contents = read.map(
      (one) => [one.kind, textOf(this.#server.find(one, { namespace, name: READ }))] as const,
    );
    this.#read.set(pod.metadata.uid ?? "", new Map(contents));
  }

  #end({ namespace, name, uid = "", deletionTimestamp }: KubeObject["metadata"]): void {
    if (deletionTimestamp !== undefined) return;
    const ref = { namespace, name };
    this.#server.delete(PODS, ref);
    if (this.#server.find(PODS, ref) === undefined) this.#read.delete(uid);
    else
      this.#server.clock.timer(STUCK_MS, () => {
        if (this.#server.find(PODS, ref) !== undefined) this.#server.erase(PODS, ref);
        this.#read.delete(uid);
      });
  }
}

const templateOf = (object: KubeObject | undefined): unknown =>
  object && (object["spec"] as { readonly template: unknown }).template;
