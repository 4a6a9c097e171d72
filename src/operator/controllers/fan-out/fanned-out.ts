import { isObject } from "../../../lib/is-object.ts";
import { findCondition } from "../../api/conditions.ts";
import { followsLists } from "../../api/reasons.ts";
import { readStatus } from "../../sync/stored-status.ts";
import { type NamespaceSelection, selectionOf, selects } from "../../api/fan-out.ts";
import type { NamespaceFacts } from "../../connection/namespace-facts.ts";
import { type Watched, replayAndSubscribe } from "../../kube/cache/filtered-view.ts";
import { ObjectStore, type StoreChange } from "../../kube/cache/object-store.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { KubeError } from "../../kube/kube-error.ts";
import { keyOf, type KubeObject, namespaceOf } from "../../kube/resource.ts";

export interface FannedOutOptions {
  /** The cluster-scoped resources of one kind. */
  readonly resources: Watched<KubeObject>;
  /** The namespaces by name. */
  readonly namespaces: Watched<NamespaceFacts>;
}

type StatusWrite = KubeApi["replaceStatus"];

/**
 * Returns what the status of a resource shows of every namespace: the status of each, before this
 * process has reconciled it.
 */
function sharedStatus({ status }: KubeObject): object | undefined {
  if (!isObject(status)) return undefined;
  const { observedGeneration, target, syncedAt, connection, items, itemsOmitted } = status;
  const { lastForceSync } = status;
  const facts = { observedGeneration, target, syncedAt, connection, items, itemsOmitted };
  const shared = { ...facts, lastForceSync };
  const ready = readStatus("ClusterVaultSecret", { conditions: status["conditions"] });
  const condition = findCondition(ready.conditions, "Ready");
  // A resource that did not follow the lists says so: its deadlines prove no removal.
  return condition === undefined || followsLists(condition.reason)
    ? shared
    : { ...shared, conditions: [condition] };
}

/**
 * Cluster-scoped resources as one object for each namespace that they select: what a resource of
 * that namespace would be, with its name, its uid and its generation. Such an object is in memory
 * only, and so is its status; see docs/design/engine.md#fan-out.
 */
export class FannedOut implements Watched<KubeObject>, Disposable {
  readonly store = new ObjectStore<KubeObject>();
  readonly #options: FannedOutOptions;
  readonly #handlers = new Set<(change: StoreChange<KubeObject>) => void>();
  readonly #subscriptions = new DisposableStack();
  readonly #selections = new WeakMap<KubeObject, NamespaceSelection | undefined>();
  #version = 0;

  constructor(options: FannedOutOptions) {
    this.#options = options;
    this.#subscriptions.use(
      replayAndSubscribe(options.resources, (change) => this.#resourceChanged(change)),
    );
    this.#subscriptions.use(
      options.namespaces.onChange((change) => this.#namespaceChanged(change)),
    );
  }

  onChange(handler: (change: StoreChange<KubeObject>) => void): Disposable {
    this.#handlers.add(handler);
    return { [Symbol.dispose]: () => this.#handlers.delete(handler) };
  }

  /**
   * Reports the namespaces that a resource does not select, by the keys that their objects would
   * have: now, and after every change of the resource except its status.
   */
  onUnselected(handler: (key: string) => void): Disposable {
    const { resources, namespaces } = this.#options;
    return replayAndSubscribe(resources, ({ key: name, ...change }) => {
      if (change.type === "deleted") return;
      if (change.type === "updated" && isSame(change.before, change.now)) return;
      for (const namespace of namespaces.store.keys()) {
        const key = keyOf({ namespace, name });
        if (!this.store.has(key)) handler(key);
      }
    });
  }

  onReconnect(handler: () => void): Disposable {
    return this.#options.resources.onReconnect(handler);
  }

  /** The cluster-scoped resources themselves. */
  get resources(): Watched<KubeObject> {
    return this.#options.resources;
  }

  /** Returns the names in the spec of a resource that no namespace has. */
  absent(name: string): string[] {
    const resource = this.#options.resources.store.get(name);
    const { namespaces = [] } = (resource && this.#selectionOf(resource)) ?? {};
    return namespaces.filter((one) => !this.#options.namespaces.store.has(one));
  }

  /** Returns the objects of a resource, one for each namespace that it selects, by namespace. */
  *of(name: string): Generator<[namespace: string, object: KubeObject]> {
    for (const namespace of [...this.#options.namespaces.store.keys()].sort()) {
      const object = this.store.get(keyOf({ namespace, name }));
      if (object !== undefined) yield [namespace, object];
    }
  }

  /** Reports whether a namespace is being deleted: its target is not awaited. */
  isTerminating(namespace: string): boolean {
    return this.#options.namespaces.store.get(namespace)?.isTerminating === true;
  }

  /**
   * Returns what the object of a key would be if the resource selected its namespace. `undefined` if
   * it does, does not say validly what it selects, or there is no such namespace.
   */
  unselected(key: string): KubeObject | undefined {
    const namespace = namespaceOf(key);
    const resource = this.#options.resources.store.get(key.slice(namespace.length + 1));
    const facts = this.#options.namespaces.store.get(namespace);
    const isOut =
      resource !== undefined &&
      facts !== undefined &&
      resource.metadata.deletionTimestamp === undefined &&
      this.#selects(resource, namespace, facts) === false;
    return isOut ? this.#objectOf(resource, namespace, undefined) : undefined;
  }

  /** Replaces the status of one object, as the API server would. @throws KubeError `Conflict` */
  readonly replaceStatus: StatusWrite = (_, ref, status) => {
    const { namespace, name, uid, resourceVersion } = ref;
    const object = this.store.get(keyOf({ namespace, name }));
    const { metadata } = object ?? {};
    if (
      object === undefined ||
      metadata?.uid !== uid ||
      metadata?.resourceVersion !== resourceVersion
    )
      return Promise.reject(new KubeError({ kind: "Conflict", operation: "update status" }));
    return Promise.resolve(this.#set({ ...object, status }));
  };

  [Symbol.dispose](): void {
    this.#subscriptions.dispose();
    this.#handlers.clear();
  }

  /** @returns `undefined` if the spec does not say validly what it selects */
  #selects(
    resource: KubeObject,
    namespace: string,
    { labels }: NamespaceFacts,
  ): boolean | undefined {
    const selection = this.#selectionOf(resource);
    return selection && selects(selection, namespace, labels) === true;
  }

  /** Returns what a spec selects; `undefined` if it does not say so validly. */
  #selectionOf(resource: KubeObject): NamespaceSelection | undefined {
    if (!this.#selections.has(resource)) this.#selections.set(resource, selectionOf(resource.spec));
    return this.#selections.get(resource);
  }

  #resourceChanged(change: StoreChange<KubeObject>): void {
    if (change.type === "deleted") {
      for (const [namespace] of this.of(change.key)) this.#delete(namespace, change.key);
      return;
    }
    for (const [namespace, facts] of this.#options.namespaces.store.entries())
      this.#update(change.now, namespace, facts);
  }

  #namespaceChanged(change: StoreChange<NamespaceFacts>): void {
    const { key: namespace } = change;
    for (const resource of this.#options.resources.store.values()) {
      if (change.type === "deleted") this.#delete(namespace, resource.metadata.name);
      else this.#update(resource, namespace, change.now);
      if (isEnding(change)) this.#touch(namespace, resource.metadata.name);
    }
  }

  /** Follows a resource and a namespace. A spec without a valid selection leaves what there is. */
  #update(resource: KubeObject, namespace: string, facts: NamespaceFacts): void {
    const { name } = resource.metadata;
    const before = this.store.get(keyOf({ namespace, name }));
    const isSelected = this.#selects(resource, namespace, facts) ?? before !== undefined;
    if (!isSelected) return this.#delete(namespace, name);
    if (before !== undefined && isSame(before, resource)) return;
    const isOther = before?.metadata.uid !== resource.metadata.uid;
    const status = isOther ? sharedStatus(resource) : before?.["status"];
    this.#set(this.#objectOf(resource, namespace, status));
  }

  #objectOf({ metadata, ...resource }: KubeObject, namespace: string, status: unknown): KubeObject {
    return { ...resource, metadata: { ...metadata, namespace }, status };
  }

  #set(object: KubeObject): KubeObject {
    this.#version += 1;
    const resourceVersion = String(this.#version);
    const metadata = { ...object.metadata, resourceVersion };
    const value = { ...object, metadata };
    const stored = { uid: metadata.uid, resourceVersion, value };
    this.#report(this.store.set(keyOf(metadata), stored));
    return value;
  }

  /** Reports an object as changed: its namespace is. */
  #touch(namespace: string, name: string): void {
    const object = this.store.get(keyOf({ namespace, name }));
    if (object !== undefined) this.#set(object);
  }

  #delete(namespace: string, name: string): void {
    const key = keyOf({ namespace, name });
    this.#report(this.store.delete(key, this.store.get(key)?.metadata.uid));
  }

  #report(changes: readonly StoreChange<KubeObject>[]): void {
    for (const change of changes) for (const handler of this.#handlers) handler(change);
  }
}

/** Reports whether the deletion of a namespace begins. */
const isEnding = (change: StoreChange<NamespaceFacts>): boolean =>
  change.type === "updated" && change.now.isTerminating !== change.before.isTerminating;

/** Reports whether an object shows all of a resource but its status. */
const isSame = ({ metadata: shown }: KubeObject, { metadata }: KubeObject): boolean =>
  shown.uid === metadata.uid &&
  shown.generation === metadata.generation &&
  shown.deletionTimestamp === metadata.deletionTimestamp &&
  JSON.stringify(shown.annotations) === JSON.stringify(metadata.annotations);
