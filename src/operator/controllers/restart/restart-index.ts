import { GroupIndex, type GroupNames } from "../../lib/groups.ts";
import {
  refersTo,
  restartWindows,
  type RestartReference,
  rolloutRestart,
  type WorkloadKind,
} from "../../api/rollout-restart.ts";
import type { RestartStatus } from "../../api/status.ts";
import { isObject } from "../../../lib/is-object.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import { keyOf, type KubeObject } from "../../kube/resource.ts";
import type { SourceContent } from "../../restart/decide-restart.ts";
import { readStatus } from "../../sync/stored-status.ts";
import {
  entriesOf,
  forEachKind,
  parseSyncKey,
  SYNC_KINDS,
  syncKey,
  type SyncKind,
} from "../../sync/sync-key.ts";
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

/** Parses a resource. Invalid references are ignored as a whole: such a resource is not synced. */
export function restartSource(kind: SyncKind, object: KubeObject): RestartSource {
  const { namespace = "", name } = object.metadata;
  const spec = isObject(object.spec) ? object.spec["rolloutRestart"] : undefined;
  const { target, syncedAt, restarts = [] } = readStatus(kind, object["status"]);
  const { digest } = target ?? {};
  return {
    kind,
    namespace,
    name,
    references: rolloutRestart.safeParse(spec).data ?? [],
    target: target && `${target.kind}/${namespace}/${target.name}`,
    content:
      digest === undefined
        ? undefined
        : { digest, changedAt: syncedAt === undefined ? undefined : Date.parse(syncedAt) || 0 },
    restarts,
  };
}

/** Name of a source in the state of a workload, whose namespace is the same. */
const sourceName = ({ kind, name }: RestartSource): string => `${kind}/${name}`;

/** Returns the keys of the workloads that the status of a resource shows. */
export function shownBy({ namespace, restarts }: RestartSource): string[] {
  return restarts.map(({ kind, name }) => `${kind}/${namespace}/${name}`);
}

const kindIn = (kind: WorkloadKind, namespace: string): string => `${kind}/${namespace}`;

function namedBy({ namespace, references }: RestartSource): string[] {
  return references.flatMap(({ kind, name }) =>
    name === undefined ? [] : [workloadKey(kind, keyOf({ namespace, name }))],
  );
}

function selectedKinds({ namespace, references }: RestartSource): string[] {
  return references.flatMap(({ kind, selector }) =>
    selector === undefined ? [] : [kindIn(kind, namespace)],
  );
}

/** The kind of target that a resource has by default; most targets have the name of their resource. */
const usualTarget = forEachKind((kind) => (entriesOf(kind) === "secret" ? "Secret" : "ConfigMap"));

/** Names of workloads, kinds that selectors select in a namespace, and targets but usual ones. */
type Group = "name" | "selector" | "target" | "shown";

function namesOf(source: RestartSource | undefined): GroupNames<Group> {
  if (source === undefined) return [];
  const { kind, target } = source;
  const isUsual = target === `${usualTarget[kind]}/${keyOf(source)}`;
  return [
    ...namedBy(source).map((name) => ["name", name] as const),
    ...selectedKinds(source).map((name) => ["selector", name] as const),
    ...(target === undefined || isUsual ? [] : [["target", target] as const]),
    ...shownBy(source).map((name) => ["shown", name] as const),
  ];
}

/**
 * Finds the resources that concern a workload. Keys are queue keys. Most resources take no memory:
 * they have no references, no restarts, and a target of the default kind with the name of the
 * resource.
 */
export class RestartIndex {
  readonly #resources: Readonly<Record<SyncKind, ReadonlyStore<KubeObject>>>;
  readonly #index = new GroupIndex<Group>();

  constructor(resources: Readonly<Record<SyncKind, ReadonlyStore<KubeObject>>>) {
    this.#resources = resources;
  }

  /** Returns what the current object of a resource says. */
  get(key: string): RestartSource | undefined {
    const { kind, objectKey } = parseSyncKey(key);
    const object = this.#resources[kind].get(objectKey);
    return object && restartSource(kind, object);
  }

  /** Replaces what a resource said before by what it says now. */
  replace(key: string, before: RestartSource | undefined, now: RestartSource | undefined): void {
    this.#index.replace(key, namesOf(before), namesOf(now));
  }

  /** Number of entries: names and selectors of workloads, restarts, and unusual targets. */
  get size(): number {
    return this.#index.size;
  }

  /** Returns the keys of all workloads that resources name or show. */
  *named(): Generator<string> {
    yield* this.#index.names("name");
    yield* this.#index.names("shown");
  }

  /** Returns the resources that name the workload. */
  naming(workload: string): ReadonlySet<string> {
    return this.#index.get("name", workload);
  }

  /** Returns the resources whose status shows the workload. */
  showing(workload: string): ReadonlySet<string> {
    return this.#index.get("shown", workload);
  }

  /** Returns the resources with a selector that may select the workload. */
  selecting({ kind, namespace }: WorkloadRef): ReadonlySet<string> {
    return this.#index.get("selector", kindIn(kind, namespace));
  }

  /** Returns the resources that write this target. */
  writing(target: string): ReadonlySet<string> {
    const objectKey = target.slice(target.indexOf("/") + 1);
    const usual = SYNC_KINDS.filter((kind) => `${usualTarget[kind]}/${objectKey}` === target)
      .map((kind) => syncKey(kind, objectKey))
      .filter((key) => this.get(key)?.target === target);
    return new Set([...usual, ...this.#index.get("target", target)]);
  }

  /** Returns the resources that name or select the workload. */
  referring(
    workload: string,
    ref: WorkloadRef,
    { labels }: Pick<WorkloadMetadata, "labels">,
  ): Set<string> {
    const selecting = [...this.selecting(ref)].filter((key) =>
      this.get(key)?.references.some((reference) => refersTo(reference, { ...ref, labels })),
    );
    return new Set([...this.naming(workload), ...selecting]);
  }

  /** Returns the content of resources that a workload is restarted for, by source. */
  contentFor(
    resources: Iterable<string>,
    ref: WorkloadRef,
    metadata: Pick<WorkloadMetadata, "labels">,
  ): Map<string, SourceContent | undefined> {
    const contents = new Map<string, SourceContent | undefined>();
    for (const key of resources) {
      const source = this.get(key);
      if (source === undefined) continue;
      const windows = restartWindows(source.references, { ...ref, ...metadata });
      contents.set(sourceName(source), source.content && { ...source.content, windows });
    }
    return contents;
  }
}
