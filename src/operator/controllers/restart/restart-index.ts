import { Groups } from "../../../lib/groups.ts";
import { type RestartReference, rolloutRestart, type WorkloadKind } from "../../api/rollout-restart.ts";
import type { RestartStatus } from "../../api/status.ts";
import { isObject } from "../../../lib/is-object.ts";
import { keyOf, type KubeObject } from "../../kube/resource.ts";
import type { SourceContent } from "../../restart/decide-restart.ts";
import { readStatus } from "../../sync/sync-status.ts";
import { syncKey, type SyncKind } from "../sync/sync-key.ts";
import { workloadKey, type WorkloadMetadata, type WorkloadRef } from "./workload.ts";

/** The part of a VaultSecret or VaultFile that concerns restarts. */
export interface RestartSource {
  readonly kind: SyncKind;
  readonly namespace: string;
  readonly name: string;
  readonly references: readonly RestartReference[];
  /** `<kind>/<namespace>/<name>` of the target that was last in sync. */
  readonly target: string | undefined;
  /** `undefined` before the first sync. */
  readonly content: SourceContent | undefined;
  /** Entries of its status. */
  readonly restarts: readonly RestartStatus[];
}

/** Parses a resource. References that are not valid count as none: such a resource is not synced. */
export function restartSource(kind: SyncKind, object: KubeObject): RestartSource {
  const { namespace = "", name } = object.metadata;
  const spec = isObject(object.spec) ? object.spec["rolloutRestart"] : undefined;
  const { target, syncedAt = "", restarts = [] } = readStatus(kind, object["status"]);
  const { digest } = target ?? {};
  return {
    kind,
    namespace,
    name,
    references: rolloutRestart.safeParse(spec).data ?? [],
    target: target && `${target.kind}/${namespace}/${target.name}`,
    content: digest === undefined ? undefined : { digest, changedAt: Date.parse(syncedAt) || 0 },
    restarts,
  };
}

/** Name of a source in the state of a workload, whose namespace is the same. */
export const sourceName = ({ kind, name }: RestartSource): string => `${kind}/${name}`;

/** Returns the keys of the workloads that the status of a resource shows. */
export function shownBy({ namespace, restarts }: RestartSource): string[] {
  return restarts.map(({ kind, name }) => `${kind}/${namespace}/${name}`);
}

const kindIn = (kind: WorkloadKind, namespace: string): string => `${kind}/${namespace}`;

function namedBy({ namespace, references }: RestartSource): string[] {
  return references.flatMap(({ kind, name }) => (name === undefined ? [] : [workloadKey(kind, keyOf({ namespace, name }))]));
}

function selectedKinds({ namespace, references }: RestartSource): string[] {
  return references.flatMap(({ kind, selector }) => (selector === undefined ? [] : [kindIn(kind, namespace)]));
}

/** Finds the resources that concern a workload, and the workloads that concern a resource. Keys are those of the queues. */
export class RestartIndex {
  readonly #sources = new Map<string, RestartSource>();
  readonly #byName = new Groups();
  readonly #bySelector = new Groups();
  readonly #byTarget = new Groups();
  readonly #byShown = new Groups();

  get(key: string): RestartSource | undefined {
    return this.#sources.get(key);
  }

  /** Replaces what a resource says; returns its key. */
  set(source: RestartSource): string {
    const key = syncKey(source.kind, keyOf(source));
    this.remove(key);
    this.#sources.set(key, source);
    for (const [groups, name] of this.#entries(source)) groups.add(name, key);
    return key;
  }

  remove(key: string): void {
    const source = this.#sources.get(key);
    if (source === undefined) return;
    this.#sources.delete(key);
    for (const [groups, name] of this.#entries(source)) groups.remove(name, key);
  }

  /** Returns the keys of all workloads that resources name or show. */
  *named(): Generator<string> {
    for (const source of this.#sources.values()) yield* [...namedBy(source), ...shownBy(source)];
  }

  /** Returns the resources that name the workload. */
  naming(workload: string): ReadonlySet<string> {
    return this.#byName.get(workload);
  }

  /** Returns the resources whose status shows the workload. */
  showing(workload: string): ReadonlySet<string> {
    return this.#byShown.get(workload);
  }

  /** Returns the resources with a selector that may select the workload. */
  selecting({ kind, namespace }: WorkloadRef): ReadonlySet<string> {
    return this.#bySelector.get(kindIn(kind, namespace));
  }

  /** Returns the resources that write this target. */
  writing(target: string): ReadonlySet<string> {
    return this.#byTarget.get(target);
  }

  /** Returns the resources that name or select the workload. */
  referring(workload: string, ref: WorkloadRef, { labels }: Pick<WorkloadMetadata, "labels">): Set<string> {
    const selecting = [...this.selecting(ref)].filter((key) => this.#selects(key, ref.kind, labels));
    return new Set([...this.naming(workload), ...selecting]);
  }

  #selects(key: string, kind: WorkloadKind, labels: Readonly<Record<string, string>>): boolean {
    const { references = [] } = this.#sources.get(key) ?? {};
    return references.some((reference) => {
      if (reference.kind !== kind || reference.selector === undefined) return false;
      return Object.entries(reference.selector.matchLabels).every(([name, value]) => labels[name] === value);
    });
  }

  #entries(source: RestartSource): (readonly [Groups, string])[] {
    return [
      ...namedBy(source).map((name) => [this.#byName, name] as const),
      ...selectedKinds(source).map((name) => [this.#bySelector, name] as const),
      ...(source.target === undefined ? [] : [[this.#byTarget, source.target] as const]),
      ...shownBy(source).map((name) => [this.#byShown, name] as const),
    ];
  }
}
