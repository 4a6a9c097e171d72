import type { KubeApi } from "../client/kube-api.ts";
import { ifFound } from "../kube-error.ts";
import { keyOf, type KubeObject, type ObjectRef, type ResourceDescriptor } from "../resource.ts";
import type { Watched } from "./filtered-view.ts";
import { type IndexOf, ObjectStore, type StoreChange } from "./object-store.ts";

export interface ReadObjectsOptions<T> {
  readonly api: KubeApi;
  readonly resource: ResourceDescriptor;
  /** Selects the objects; another one counts as absent, as in a watch with a selector. */
  readonly includes: (object: KubeObject) => boolean;
  readonly project: (object: KubeObject) => T;
  readonly indexOf?: IndexOf<T> | undefined;
}

/**
 * Objects that are read one by one instead of watched. The store contains each as of its last read,
 * metadata only.
 */
export class ReadObjects<T> implements Watched<T> {
  readonly store: ObjectStore<T>;
  readonly #options: ReadObjectsOptions<T>;
  readonly #handlers = new Set<(change: StoreChange<T>) => void>();

  constructor(options: ReadObjectsOptions<T>) {
    this.#options = options;
    this.store = new ObjectStore(options.indexOf);
  }

  onChange(handler: (change: StoreChange<T>) => void): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => void this.#handlers.delete(handler) };
  }

  /** Never calls the handler: there is no connection that could be lost. */
  onReconnect(): Disposable {
    return { [Symbol.dispose]: () => undefined };
  }

  async read(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const { api, resource } = this.#options;
    const key = keyOf(ref);
    const object = await ifFound(api.getMetadata(resource, ref, signal));
    for (const change of this.#take(key, object))
      for (const handler of this.#handlers) handler(change);
  }

  written(object: KubeObject): void {
    for (const change of this.#take(keyOf(object.metadata), object))
      for (const handler of this.#handlers) handler(change);
  }

  forget(ref: ObjectRef): void {
    const key = keyOf(ref);
    this.store.delete(key, this.store.stored(key)?.uid);
  }

  #take(key: string, object: KubeObject | undefined): readonly StoreChange<T>[] {
    const { includes, project } = this.#options;
    if (object === undefined || !includes(object))
      return this.store.delete(key, this.store.stored(key)?.uid);
    const { uid, resourceVersion } = object.metadata;
    return this.store.set(key, { uid, resourceVersion, value: project(object) });
  }
}
