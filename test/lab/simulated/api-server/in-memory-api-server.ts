import type { Clock } from "../../../../src/lib/clock.ts";
import type { Random } from "../../../../src/lib/random.ts";
import type {
  ListOptions,
  MergePatch,
  StateRef,
} from "../../../../src/operator/kube/client/kube-api.ts";
import {
  type KubeObject,
  NAMESPACES,
  type ObjectRef,
  type ResourceDescriptor,
} from "../../../../src/operator/kube/resource.ts";
import {
  type Access,
  type Caller,
  inNamespace,
  type Scope,
  type Verb,
  type Webhook,
} from "./access.ts";
import type { Change, Collection, OpenWatch, Stored } from "./collection.ts";
import {
  applyFields,
  isSameOwners,
  type Owners,
  ownersAfterUpdate,
  ownersListed,
} from "./field-ownership.ts";
import { isEqualJson, type Json, mergePatched, transferred } from "./json.ts";
import {
  deletingMetadata,
  systemMetadata,
  timestampOf,
  withoutEmptyFields,
  writtenAt,
} from "./object-metadata.ts";
import { newBody, nextBody, withGeneration } from "./object-body.ts";
import { expectState, isCustom, mayCreateByUpdate, resourceKey } from "./resource-rules.ts";
import { selectorOf } from "./selector.ts";
import {
  alreadyExists,
  badRequest,
  conflict,
  fieldConflict,
  forbidden,
  malformed,
  notFound,
} from "./status-error.ts";
import { Store } from "./store.ts";
import { decodable, validate, withDefaults } from "./validation.ts";

interface DeleteOptions {
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
}

/** A user with all permissions. */
const USER: Caller = { user: "user", fieldManager: "kubectl" };

/**
 * An API server that stores objects in memory and behaves as kube-apiserver does: resourceVersions,
 * optimistic concurrency, validation, server-side apply, deletion with finalizers, watches,
 * namespaces, quotas and admission. `ClusterControllers` adds garbage collection. Its own methods
 * are synchronous and act as a user with all permissions; `ApiClient` is the port for a client.
 *
 * Not modeled: the schemas of custom resources, `managedFields` in responses but to reads of
 * metadata, and without fields, lists as separate requests for each page.
 */
export class InMemoryApiServer {
  readonly clock: Clock;
  /** Reports whether a request is allowed by RBAC; all are by default. */
  authorize: (access: Access) => boolean = () => true;
  readonly webhooks: Webhook[] = [];
  /** Maximum number of objects by `<namespace>/<plural>`. */
  readonly quotas = new Map<string, number>();
  readonly #random: Random;
  readonly #store: Store;
  #lastUid = 0;

  /**
   * @param random source of generated names
   * @param history number of changes of each resource from which a watch can continue at least
   */
  constructor({
    clock,
    random = () => 0.5,
    history = 1_000,
  }: {
    clock: Clock;
    random?: Random;
    history?: number;
  }) {
    this.clock = clock;
    this.#random = random;
    this.#store = new Store(history);
    this.onCommit(({ after }) => after && writtenAt.set(after.metadata, clock.now()));
  }

  /** Calls `listener` after each committed write, before any watch delivers it. */
  onCommit(listener: (change: Change) => void): Disposable {
    return this.#store.onCommit(listener);
  }

  /** The resourceVersion of the last write. */
  get version(): number {
    return this.#store.version;
  }

  get collections(): readonly Collection[] {
    return this.#store.collections;
  }

  /** The open watches of a resource, or of all. */
  watches(resource?: ResourceDescriptor): OpenWatch[] {
    const collections = resource ? [this.#store.collection(resource)] : this.collections;
    return collections.flatMap(({ watches }) => [...watches]);
  }

  /** Forgets the history of all resources: watches that continue from before now fail with 410. */
  compact(): void {
    this.#store.compact();
  }

  /**
   * Removes a custom resource, as deleting its definition does: its objects and watches are gone,
   * and requests get a bare 404.
   */
  unserve(resource: ResourceDescriptor): void {
    for (const object of this.all(resource)) this.#store.remove(resource, object, "system");
    for (const watch of this.watches(resource)) watch.drop();
    this.#store.setServed(resource, false);
  }

  /** Serves a custom resource again, without objects. */
  serve(resource: ResourceDescriptor): void {
    this.#store.setServed(resource, true);
  }

  createNamespace(name: string, labels: Readonly<Record<string, string>> = {}): KubeObject {
    const object = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels },
      spec: { finalizers: ["kubernetes"] },
    };
    return this.create(NAMESPACES, object);
  }

  /** Returns the object; `undefined` if there is none. */
  find(resource: ResourceDescriptor, ref: ObjectRef): KubeObject | undefined {
    return this.#store.find(resource, ref)?.object;
  }

  /** Returns all objects of a resource. */
  all(resource: ResourceDescriptor): KubeObject[] {
    return [...this.#store.collection(resource).objects.values()].map(({ object }) => object);
  }

  get(resource: ResourceDescriptor, ref: ObjectRef, caller = USER): KubeObject {
    this.#check(resource, "get", ref, caller);
    return this.#store.expect(resource, ref).object;
  }

  list(
    resource: ResourceDescriptor,
    options: ListOptions,
    caller = USER,
  ): { items: KubeObject[]; resourceVersion: string } {
    this.#check(resource, "list", inNamespace(options), caller);
    const isSelected = selectorOf(options);
    return {
      items: this.#store.collection(resource).inOrder.filter(isSelected),
      resourceVersion: `${this.version}`,
    };
  }

  /** Returns the collection for a watch, after authorization. */
  watched(resource: ResourceDescriptor, namespace: string, caller: Caller): Collection {
    this.#check(resource, "watch", inNamespace({ namespace }), caller);
    return this.#store.collection(resource);
  }

  create(resource: ResourceDescriptor, object: KubeObject, caller = USER): KubeObject {
    const access = this.#check(resource, "create", inNamespace(object.metadata), caller);
    return this.#create(resource, transferred(object), caller, access, (owned) =>
      ownersAfterUpdate(new Map(), `Update ${caller.fieldManager}`, undefined, owned),
    );
  }

  replace(resource: ResourceDescriptor, object: KubeObject, caller = USER): KubeObject {
    const access = this.#check(resource, "update", object.metadata, caller);
    const { metadata } = object;
    const body = decodable(resource, transferred<Json>(object), badRequest);
    const stored = this.#store.find(resource, metadata);
    if (!stored && mayCreateByUpdate(resource)) {
      if (metadata.uid) throw conflict();
      return this.create(
        resource,
        { ...object, metadata: { ...metadata, resourceVersion: "" } },
        caller,
      );
    }
    if (!stored) throw notFound();
    expectState(stored.object, metadata);
    if (isCustom(resource) && !metadata.resourceVersion) throw malformed.version();
    return this.#update(resource, stored, body, caller, access);
  }

  replaceStatus(
    resource: ResourceDescriptor,
    ref: StateRef,
    status: object,
    caller = USER,
  ): KubeObject {
    const access = this.#check(resource, "update", ref, caller, "status");
    const stored = this.#store.expect(resource, ref);
    expectState(stored.object, ref);
    if (isCustom(resource) && !ref.resourceVersion) throw malformed.version();
    return this.#update(
      resource,
      stored,
      { ...stored.object, status: transferred(status) },
      caller,
      access,
    );
  }

  patch(resource: ResourceDescriptor, ref: StateRef, patch: MergePatch, caller = USER): KubeObject {
    const access = this.#check(resource, "patch", ref, caller);
    const stored = this.#store.expect(resource, ref);
    const { uid, resourceVersion } = ref;
    const body = transferred({ ...patch, metadata: { ...patch.metadata, uid, resourceVersion } });
    const patched = decodable(resource, mergePatched(stored.object, body) as Json, malformed.patch);
    expectState(stored.object, { ...ref, uid: undefined });
    return this.#update(resource, stored, patched, caller, access);
  }

  apply(
    resource: ResourceDescriptor,
    object: KubeObject,
    { force }: { force: boolean },
    caller = USER,
  ): KubeObject {
    const access = this.#check(resource, "patch", object.metadata, caller);
    const { metadata } = object;
    const stored = this.#store.find(resource, metadata);
    const manager = `Apply ${caller.fieldManager}`;
    const { status: _, ...main } = transferred<Json>(object);
    const wanted = isCustom(resource) ? main : transferred<Json>(object);
    if (!stored) {
      decodable(resource, wanted, malformed.apply);
      if (metadata.uid) throw conflict();
      const create = this.#check(resource, "create", inNamespace(metadata), caller);
      return this.#create(
        resource,
        wanted,
        caller,
        create,
        () => applyFields({}, new Map(), manager, wanted).owners,
      );
    }
    expectState(stored.object, metadata);
    const applied = applyFields(stored.object, stored.owners, manager, wanted);
    if (applied.conflicts.length > 0 && !force) throw fieldConflict(applied.conflicts);
    decodable(resource, applied.object, malformed.apply);
    return this.#update(resource, stored, applied.object, caller, access, applied.owners);
  }

  delete(
    resource: ResourceDescriptor,
    ref: StateRef,
    options: DeleteOptions = {},
    caller = USER,
  ): void {
    this.#check(resource, "delete", ref, caller);
    const stored = this.#store.expect(resource, ref);
    expectState(stored.object, ref);
    const { metadata } = stored.object;
    const finalizers = new Set(metadata.finalizers);
    if (options.propagationPolicy === "Foreground") finalizers.add("foregroundDeletion");
    if (options.propagationPolicy === "Orphan") finalizers.add("orphan");
    const isNamespace = resourceKey(resource) === resourceKey(NAMESPACES);
    if (finalizers.size === 0 && !isNamespace)
      return this.#store.remove(resource, stored.object, caller.user);
    if (metadata.deletionTimestamp !== undefined) return undefined;
    const deleting = deletingMetadata(metadata, [...finalizers], this.#timestamp());
    const status = isNamespace ? { status: { phase: "Terminating" } } : {};
    this.#store.commit(
      resource,
      stored.object,
      { ...stored.object, ...status, metadata: deleting },
      stored.owners,
      caller.user,
    );
  }

  /** Removes an object without regard to its finalizers. */
  erase(resource: ResourceDescriptor, ref: ObjectRef): void {
    this.#store.remove(resource, this.#store.expect(resource, ref).object, "system");
  }

  #create(
    resource: ResourceDescriptor,
    body: Json,
    caller: Caller,
    access: Access,
    ownersOf: (object: Json) => Owners,
  ): KubeObject {
    this.#expectNamespace(resource, access.namespace);
    this.#lastUid += 1;
    const metadata = systemMetadata(body["metadata"], {
      uid: `00000000-0000-4000-8000-${this.#lastUid.toString(16).padStart(12, "0")}`,
      creationTimestamp: this.#timestamp(),
      generation: isCustom(resource) ? 1 : undefined,
      random: this.#random,
    });
    const object = this.#admitted(resource, newBody(resource, body, metadata), undefined, access);
    validate(resource, object, undefined);
    this.#expectQuota(resource, access.namespace);
    if (this.find(resource, object.metadata)) throw alreadyExists();
    return this.#store.commit(resource, undefined, object, ownersOf(object), caller.user);
  }

  #update(
    resource: ResourceDescriptor,
    stored: Stored,
    body: Json,
    caller: Caller,
    access: Access,
    applied?: Owners,
  ): KubeObject {
    const before = stored.object;
    const isMain = isCustom(resource) && access.subresource === undefined;
    const next = nextBody(resource, body, before, isMain);
    const admitted = this.#admitted(resource, next, before, access);
    const object = isMain ? withGeneration(before, admitted) : admitted;
    validate(resource, object, before);
    const manager = `Update ${caller.fieldManager}${access.subresource ? " status" : ""}`;
    const owners =
      applied ?? ownersAfterUpdate(ownersListed(stored.owners, body), manager, before, object);
    if (isEqualJson(object, before) && isSameOwners(owners, stored.owners)) return before;
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (
      deletionTimestamp !== undefined &&
      finalizers.length === 0 &&
      resource.kind !== "Namespace"
    ) {
      this.#store.remove(resource, before, caller.user);
      return object;
    }
    return this.#store.commit(resource, before, object, owners, caller.user);
  }

  #admitted(
    resource: ResourceDescriptor,
    object: KubeObject,
    before: KubeObject | undefined,
    access: Access,
  ): KubeObject {
    let admitted = object;
    for (const webhook of this.webhooks) admitted = { ...webhook(admitted, before, access) };
    return withoutEmptyFields(
      admitted === object ? object : (withDefaults(resource, admitted) as KubeObject),
    );
  }

  #check(
    resource: ResourceDescriptor,
    verb: Verb,
    { namespace, name }: Scope,
    { user }: Caller,
    subresource?: "status",
  ): Access {
    const access: Access = { user, verb, name, namespace, subresource, resource };
    if (!this.authorize(access)) throw forbidden();
    this.#store.expectServed(resource);
    return access;
  }

  #expectNamespace(resource: ResourceDescriptor, name: string | undefined): void {
    if (!resource.namespaced) return;
    const namespace = this.find(NAMESPACES, { name: name ?? "" });
    if (!namespace) throw notFound();
    if (namespace.metadata.deletionTimestamp === undefined) return;
    throw forbidden("", [{ field: "metadata.namespace", reason: "NamespaceTerminating" }]);
  }

  #expectQuota(resource: ResourceDescriptor, namespace: string | undefined): void {
    const quota = this.quotas.get(`${namespace}/${resource.plural}`) ?? Infinity;
    const used = this.all(resource).filter((one) => one.metadata.namespace === namespace);
    if (used.length >= quota) throw forbidden("exceeded quota");
  }

  #timestamp(): string {
    return timestampOf(this.clock.now());
  }
}
