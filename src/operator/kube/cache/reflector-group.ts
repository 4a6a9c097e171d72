import { namespaceOf } from "../resource.ts";
import type { ReadonlyStore, StoreChange } from "./object-store.ts";
import { JoinedStore } from "./joined-store.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

export interface ReflectorGroupOptions<T> extends Omit<ReflectorOptions<T>, "namespace"> {
  /** At least one; `[ALL_NAMESPACES]` for all. */
  readonly namespaces: readonly string[];
}

/** The reflectors of a resource, one for each namespace, behind one store. */
export class ReflectorGroup<T> {
  readonly store: ReadonlyStore<T>;
  readonly #reflectors: readonly Reflector<T>[];

  constructor({ namespaces, ...options }: ReflectorGroupOptions<T>) {
    const reflectors = new Map(namespaces.map((namespace) => [namespace, new Reflector({ ...options, namespace })]));
    this.#reflectors = [...reflectors.values()];
    const [only] = this.#reflectors;
    this.store =
      only && reflectors.size === 1
        ? only.store
        : new JoinedStore(
            this.#reflectors.map(({ store }) => store),
            (key) => reflectors.get(namespaceOf(key))?.store,
          );
  }

  /** Resolves once the first list of every namespace is stored; rejects when `run` was stopped before. */
  get synced(): Promise<void> {
    return Promise.all(this.#reflectors.map(({ synced }) => synced)).then(() => undefined);
  }

  /** Reports whether the first list of any namespace is missing, or a list is due. */
  get listing(): boolean {
    return this.#reflectors.some(({ state }) => state.name === "Empty" || state.name === "Listing");
  }

  /** Reports every change, those of one namespace in order, after it is stored. */
  onChange(handler: (change: StoreChange<T>) => void): Disposable {
    return this.#each((reflector) => reflector.onChange(handler));
  }

  /** Calls the handler when the first list or watch of a namespace after a failure succeeds. */
  onReconnect(handler: () => void): Disposable {
    return this.#each((reflector) => reflector.onReconnect(handler));
  }

  /** Lists and watches until the signal is aborted; then resolves. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.run(signal)));
  }

  #each(subscribe: (reflector: Reflector<T>) => Disposable): Disposable {
    const stack = new DisposableStack();
    for (const reflector of this.#reflectors) stack.use(subscribe(reflector));
    return stack;
  }
}
