import {
  type KubeObject,
  type OwnerReference,
  NAMESPACES,
} from "../../../../src/operator/kube/resource.ts";
import type { Caller } from "./access.ts";
import type { Collection } from "./collection.ts";
import type { InMemoryApiServer } from "./in-memory-api-server.ts";

const SYSTEM: Caller = { user: "system", fieldManager: "kube-controller-manager" };
/** Time in milliseconds between a change and what the controllers do about it. */
const DELAY_MS = 500;
/** Time after which the server removes events, in milliseconds. */
const EVENT_LIFETIME_MS = 3_600_000;

interface Entry {
  readonly collection: Collection;
  readonly object: KubeObject;
}

/**
 * The controllers of a cluster: garbage collection by owner references, deletion of the contents of
 * terminating namespaces, and expiry of events.
 */
export class ClusterControllers {
  readonly #server: InMemoryApiServer;
  #isDue = false;

  constructor(server: InMemoryApiServer) {
    this.#server = server;
  }

  /** Acts soon, once for all changes of a short time. */
  wake(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#server.clock.timer(DELAY_MS, () => {
      this.#isDue = false;
      this.run();
    });
  }

  /** Acts until nothing is left to do. */
  run(): void {
    let version = -1;
    while (version !== this.#server.version) {
      version = this.#server.version;
      const entries = this.#entries();
      const byUid = new Map(entries.map((entry) => [entry.object.metadata.uid, entry]));
      for (const entry of entries) this.#collect(entry, byUid);
      for (const entry of entries) this.#finalize(entry, entries);
      for (const namespace of this.#server.all(NAMESPACES)) this.#empty(namespace);
    }
  }

  /** Deletes an object whose owners are all gone, and removes references to missing owners. */
  #collect({ collection, object }: Entry, byUid: ReadonlyMap<string | undefined, Entry>): void {
    const { ownerReferences = [], ...metadata } = object.metadata;
    if (ownerReferences.length === 0 || metadata.deletionTimestamp) return;
    const exists = (reference: OwnerReference): boolean => {
      const owner = byUid.get(reference.uid)?.object;
      const { namespace } = owner?.metadata ?? {};
      return (
        owner?.metadata.name === reference.name &&
        (namespace === undefined || namespace === metadata.namespace)
      );
    };
    const waits = ({ uid }: OwnerReference): boolean =>
      byUid.get(uid)?.object.metadata.finalizers?.includes("foregroundDeletion") ?? false;
    const kept = ownerReferences.filter(exists);
    const { uid, namespace, name } = metadata;
    if (kept.every(waits))
      this.#server.delete(collection.resource, { uid, namespace, name }, {}, SYSTEM);
    else if (kept.length < ownerReferences.length)
      this.#replaceReferences({ collection, object }, kept);
  }

  /**
   * Completes a deletion in the foreground once the dependents are gone, and one that orphans them
   * immediately.
   */
  #finalize({ collection, object }: Entry, entries: readonly Entry[]): void {
    const { finalizers = [], deletionTimestamp, uid } = object.metadata;
    const finalizer = finalizers.find((name) => name === "foregroundDeletion" || name === "orphan");
    if (deletionTimestamp === undefined || finalizer === undefined) return;
    const dependents = entries.filter(
      ({ collection: { resource }, object: { metadata } }) =>
        (metadata.ownerReferences ?? []).some((reference) => reference.uid === uid) &&
        this.#server.find(resource, metadata),
    );
    if (finalizer === "orphan") {
      for (const dependent of dependents) {
        const references = dependent.object.metadata.ownerReferences ?? [];
        this.#replaceReferences(
          dependent,
          references.filter((reference) => reference.uid !== uid),
        );
      }
    } else if (dependents.length > 0) return;
    const now = this.#server.get(collection.resource, object.metadata);
    const metadata = {
      ...now.metadata,
      finalizers: (now.metadata.finalizers ?? []).filter((name) => name !== finalizer),
    };
    this.#server.replace(collection.resource, { ...now, metadata }, SYSTEM);
  }

  #replaceReferences(
    { collection: { resource }, object }: Entry,
    ownerReferences: readonly OwnerReference[],
  ): void {
    const now = this.#server.get(resource, object.metadata);
    this.#server.replace(
      resource,
      { ...now, metadata: { ...now.metadata, ownerReferences } },
      SYSTEM,
    );
  }

  #empty(namespace: KubeObject): void {
    if (namespace.metadata.deletionTimestamp === undefined) return;
    const contents = this.#entries().filter(
      ({ object }) => object.metadata.namespace === namespace.metadata.name,
    );
    for (const { collection, object } of contents) {
      const { name, namespace: within } = object.metadata;
      if (!object.metadata.deletionTimestamp)
        this.#server.delete(collection.resource, { namespace: within, name }, {}, SYSTEM);
    }
    if (contents.length === 0) this.#server.erase(NAMESPACES, { name: namespace.metadata.name });
  }

  #entries(): Entry[] {
    const oldest = this.#server.clock.now() - EVENT_LIFETIME_MS;
    const entries: Entry[] = [];
    for (const collection of this.#server.collections) {
      for (const { object } of collection.objects.values()) {
        const isExpired =
          object.kind === "Event" && Date.parse(object.metadata.creationTimestamp ?? "") < oldest;
        if (isExpired) this.#server.erase(collection.resource, object.metadata);
        else entries.push({ collection, object });
      }
    }
    return entries;
  }
}
