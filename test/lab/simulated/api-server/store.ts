import {
  type KubeObject,
  keyOf,
  type ObjectRef,
  type ResourceDescriptor,
} from "../../../../src/operator/kube/resource.ts";
import { type Change, Collection, type Stored } from "./collection.ts";
import type { Owners } from "./field-ownership.ts";
import { transferred } from "./json.ts";
import { resourceKey } from "./resource-rules.ts";
import { notFound, StatusError } from "./status-error.ts";

/** The collections of an API server under one sequence of resourceVersions. */
export class Store {
  readonly #maxHistory: number;
  readonly #collections = new Map<string, Collection>();
  readonly #unserved = new Set<string>();
  readonly #listeners = new Set<(change: Change) => void>();
  /** Version of the last compaction. */
  #compacted = 100;
  #version = 100;

  /**
   * @param maxHistory number of changes of each resource from which a watch can continue at least
   */
  constructor(maxHistory: number) {
    this.#maxHistory = maxHistory;
  }

  /** The version of the last write. */
  get version(): number {
    return this.#version;
  }

  get collections(): Collection[] {
    return [...this.#collections.values()];
  }

  collection(resource: ResourceDescriptor): Collection {
    const key = resourceKey(resource);
    let collection = this.#collections.get(key);
    if (!collection)
      this.#collections.set(
        key,
        (collection = new Collection(resource, this.#compacted, this.#maxHistory)),
      );
    return collection;
  }

  /** Forgets the history of all resources. */
  compact(): void {
    this.#compacted = this.#version;
    for (const collection of this.#collections.values()) collection.compact(this.#compacted);
  }

  /** @throws StatusError 404 without a body when the resource is not served */
  expectServed(resource: ResourceDescriptor): void {
    if (this.#unserved.size > 0 && this.#unserved.has(resourceKey(resource)))
      throw new StatusError(404, "");
  }

  setServed(resource: ResourceDescriptor, isServed: boolean): void {
    if (isServed) this.#unserved.delete(resourceKey(resource));
    else this.#unserved.add(resourceKey(resource));
  }

  find(resource: ResourceDescriptor, ref: ObjectRef): Stored | undefined {
    return this.collection(resource).objects.get(keyOf(ref));
  }

  /** @throws StatusError NotFound */
  expect(resource: ResourceDescriptor, ref: ObjectRef): Stored {
    const stored = this.find(resource, ref);
    if (!stored) throw notFound();
    return stored;
  }

  onCommit(listener: (change: Change) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  commit(
    resource: ResourceDescriptor,
    before: KubeObject | undefined,
    object: KubeObject,
    owners: Owners,
    user: string,
  ): KubeObject {
    const metadata = { ...object.metadata, resourceVersion: `${this.#version + 1}` };
    const after = transferred({ ...object, metadata });
    this.#commit(resource, before, { object: after, owners }, user);
    return after;
  }

  remove(resource: ResourceDescriptor, before: KubeObject, user: string): void {
    this.#commit(resource, before, undefined, user);
  }

  #commit(
    resource: ResourceDescriptor,
    before: KubeObject | undefined,
    stored: Stored | undefined,
    user: string,
  ): void {
    this.#version += 1;
    const change: Change = {
      resource,
      version: this.#version,
      before,
      after: stored?.object,
      user,
    };
    for (const listener of this.#listeners) listener(change);
    this.collection(resource).commit(change, stored);
  }
}
