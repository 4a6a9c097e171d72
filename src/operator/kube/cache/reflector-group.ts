import type { RequestProblems } from "../request-problems.ts";
import { ALL_NAMESPACES, namespaceOf } from "../resource.ts";
import type { Watched } from "./filtered-view.ts";
import { JoinedStore } from "./joined-view.ts";
import type { ReadonlyStore, StoreChange } from "./object-store.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

export type ReflectorGroupOptions<T> = Omit<ReflectorOptions<T>, "namespace" | "problems">;

/**
 * The part of a collection that is in one namespace, or in all. Its objects are in the store of the
 * group from `show` to `hide`.
 */
export interface CollectionPart {
  /** Resolves once the first list is complete; rejects when `run` was stopped before. */
  readonly synced: Promise<void>;
  /** Lists and watches until the signal is aborted; then resolves. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Adds the objects to the store, without reporting them. */
  show(): void;
  /** Reports the objects as added, and every later change. */
  report(): void;
  /** Removes the objects from the store, and reports those that were reported before as deleted. */
  hide(): void;
}

/** A collection whose namespaces are watched separately. */
export interface NamespacedCollection {
  /** @param namespace one namespace, or `ALL_NAMESPACES` */
  open(namespace: string, problems?: RequestProblems): CollectionPart;
}

/** The reflectors of a resource, one for each namespace that is shown, behind one store. */
export class ReflectorGroup<T> implements NamespacedCollection, Watched<T> {
  readonly store: ReadonlyStore<T>;
  readonly #options: ReflectorGroupOptions<T>;
  readonly #shown = new Map<string, ReadonlyStore<T>>();
  readonly #handlers = new Set<(change: StoreChange<T>) => void>();
  readonly #reconnectHandlers = new Set<() => void>();

  constructor(options: ReflectorGroupOptions<T>) {
    this.#options = options;
    this.store = new JoinedStore(
      () => this.#shown.values(),
      (key) => this.#shown.get(ALL_NAMESPACES) ?? this.#shown.get(namespaceOf(key)),
    );
  }

  /** Reports every change after it is stored, in order within a namespace. */
  onChange(handler: (change: StoreChange<T>) => void): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
  }

  /** Calls the handler when the first list or watch of a namespace after a failure succeeds. */
  onReconnect(handler: () => void): Disposable {
    this.#reconnectHandlers.add(handler);
    return { [Symbol.dispose]: () => void this.#reconnectHandlers.delete(handler) };
  }

  open(namespace: string, problems?: RequestProblems): CollectionPart {
    const reflector = new Reflector({ ...this.#options, namespace, problems });
    const { store } = reflector;
    const reported = new DisposableStack();
    return {
      synced: reflector.synced,
      run: (signal) => reflector.run(signal),
      show: () => void this.#shown.set(namespace, store),
      report: () => {
        for (const [key, now] of store.entries()) this.#notify({ type: "added", key, now });
        reported.use(reflector.onChange((change) => this.#notify(change)));
        reported.use(reflector.onReconnect(() => this.#notifyReconnect()));
        reported.defer(() => {
          for (const [key, before] of store.entries())
            this.#notify({ type: "deleted", key, before });
        });
      },
      hide: () => {
        if (this.#shown.get(namespace) === store) this.#shown.delete(namespace);
        reported.dispose();
      },
    };
  }

  /** Notifies all handlers, also after one of them has failed. */
  #notify(change: StoreChange<T>): void {
    for (const handler of this.#handlers) {
      try {
        handler(change);
      } catch (error) {
        const { logger, resource } = this.#options;
        const fields = {
          resource: resource.plural,
          key: change.key,
          error: error instanceof Error ? error.name : typeof error,
        };
        logger.error(fields, "change handler failed");
      }
    }
  }

  #notifyReconnect(): void {
    for (const handler of this.#reconnectHandlers) handler();
  }
}
