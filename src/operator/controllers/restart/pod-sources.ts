import { Groups } from "../../lib/groups.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { podReferences } from "../../restart/pod-references.ts";
import { readWorkload, type WorkloadMetadata, type WorkloadRef } from "./workload.ts";

interface Known {
  readonly uid: string;
  readonly generation: number;
  /** Keys of Secrets and ConfigMaps: `<kind>/<namespace>/<name>`. */
  readonly targets: readonly string[];
}

/** The Secrets and ConfigMaps that the pods of workloads with the annotation `auto` use. */
export class PodSources {
  readonly #api: KubeApi;
  readonly #known = new Map<string, Known>();
  readonly #users = new Groups();

  constructor(api: KubeApi) {
    this.#api = api;
  }

  /** Returns the keys of the known workloads whose pods use this Secret or ConfigMap. */
  usersOf(target: string): ReadonlySet<string> {
    return this.#users.get(target);
  }

  /**
   * Returns what the pods of a workload use. Reads the workload when its spec has changed. @throws
   * KubeError
   */
  async of(
    key: string,
    ref: WorkloadRef,
    metadata: WorkloadMetadata,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { uid, generation } = metadata;
    const known = this.#known.get(key);
    if (known?.uid === uid && known.generation === generation) return known.targets;
    const object = await readWorkload(this.#api, ref, signal);
    const targets = [...podReferences(object)].map((reference) =>
      reference.replace("/", `/${ref.namespace}/`),
    );
    this.forget(key);
    this.#known.set(key, { uid, generation, targets });
    for (const target of targets) this.#users.add(target, key);
    return targets;
  }

  /** Drops a workload that was deleted or no longer has the annotation. */
  forget(key: string): void {
    for (const target of this.#known.get(key)?.targets ?? []) this.#users.remove(target, key);
    this.#known.delete(key);
  }
}
