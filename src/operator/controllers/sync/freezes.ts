import { FREEZE_CONFIG_MAP } from "../../api/names.ts";
import { freezeOf, type NamespaceFacts } from "../../connection/namespace-facts.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import type { Freeze } from "../../sync/freeze.ts";

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
    return freezeOf(all, facts, now);
  }
}
