import { isObject } from "../../lib/is-object.ts";
import { FREEZE_ANNOTATION } from "../api/names.ts";
import type { Labels } from "../api/namespace-selector.ts";
import type { KubeObject } from "../kube/resource.ts";
import { writtenAt } from "../kube/written-at.ts";
import { type Freeze, frozenBy, parseFreeze, parseFreezeUntil } from "../sync/freeze.ts";

/** The facts about a namespace that resources depend on. */
export interface NamespaceFacts {
  readonly labels: Labels;
  /** Its annotation vaultsync.dev/freeze-until. */
  readonly freeze?: Freeze | undefined;
  /** It is being deleted: nothing can be created in it. */
  readonly isTerminating?: true;
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
  const facts: NamespaceFacts =
    metadata.deletionTimestamp === undefined ? { labels } : { labels, isTerminating: true };
  if (until === undefined) return facts;
  const written = { values: { until }, writtenAt: writtenAt(metadata, FREEZE_ANNOTATION) };
  return { ...facts, freeze: parseFreezeUntil(written) };
}

/**
 * Returns the freeze that holds in a namespace at this time.
 * @param all the freeze of all or some namespaces
 * @param facts `undefined` if they are not known
 */
export const freezeOf = (
  all: Freeze | undefined,
  facts: NamespaceFacts | undefined,
  now: number,
): Freeze | undefined => frozenBy([all ?? [], facts?.freeze ?? []].flat(), facts?.labels, now);
