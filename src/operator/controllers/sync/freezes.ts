import { isObject } from "../../../lib/is-object.ts";
import { FREEZE_ANNOTATION, FREEZE_CONFIG_MAP } from "../../api/names.ts";
import type { Labels } from "../../api/namespace-selector.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { writtenAt } from "../../kube/written-at.ts";
import { type Freeze, frozenBy, parseFreeze, parseFreezeUntil } from "../../sync/freeze.ts";

/** The facts about a namespace that resources depend on. */
export interface NamespaceFacts {
  readonly labels: Labels;
  /** Its annotation vaultsync.dev/freeze-until. */
  readonly freeze?: Freeze | undefined;
}

/** Returns the freeze of all or some namespaces, from its ConfigMap. */
export function freezeIn({ metadata, data }: KubeObject): Freeze {
  const entries = Object.entries(isObject(data) ? data : {});
  const values = Object.fromEntries(entries.map(([key, value]) => [key, String(value)]));
  return parseFreeze({ values, writtenAt: writtenAt(metadata) });
}

/** Returns the labels of a namespace, and its freeze. */
export function namespaceFacts({ metadata }: KubeObject): NamespaceFacts {
  const { labels = {}, annotations = {} } = metadata;
  const until = annotations[FREEZE_ANNOTATION];
  if (until === undefined) return { labels };
  const written = { values: { until }, writtenAt: writtenAt(metadata, FREEZE_ANNOTATION) };
  return { labels, freeze: parseFreezeUntil(written) };
}

export interface FreezesOptions {
  /** The ConfigMaps of freezes in the operator's namespace. */
  readonly configMaps: Pick<ReadonlyStore<Freeze>, "get">;
  /** The operator's namespace. */
  readonly namespace: string;
  /** The namespaces by name; `undefined` if the operator may not read them. */
  readonly namespaces: Pick<ReadonlyStore<NamespaceFacts>, "get"> | undefined;
}

/** The freezes of the cluster: one for all or some namespaces, and one for each namespace. */
export class Freezes {
  readonly #options: FreezesOptions;

  constructor(options: FreezesOptions) {
    this.#options = options;
  }

  /** Returns the freeze that holds in a namespace at this time. */
  of(namespace: string, now: number): Freeze | undefined {
    const { configMaps, namespace: own, namespaces } = this.#options;
    const all = configMaps.get(`${own}/${FREEZE_CONFIG_MAP}`);
    const facts = namespaces?.get(namespace);
    return frozenBy([all ?? [], facts?.freeze ?? []].flat(), facts?.labels, now);
  }
}
