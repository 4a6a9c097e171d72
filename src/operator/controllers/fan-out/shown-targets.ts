import type { Watched } from "../../kube/cache/filtered-view.ts";
import type { ReadonlyStore, StoreChange } from "../../kube/cache/object-store.ts";
import { keyOf, type KubeObject } from "../../kube/resource.ts";
import type { ParsedResource } from "../../sync/parse-resource.ts";
import { fansOut, forEachKind, parseSyncKey, type SyncKind } from "../../sync/sync-key.ts";
import type { TargetKind } from "../../sync/sync-resource.ts";
import { byKey } from "../../sync/content.ts";
import { madeBy } from "../../sync/item-form.ts";
import {
  type Claims,
  isOwnedBy,
  shortDigest,
  type TargetMetadata,
  targetState,
} from "../../sync/target.ts";
import { ownerKeys } from "../../sync/owner-keys.ts";
import type { ResourcesByKind } from "./resources-by-kind.ts";

type Targets = Readonly<Record<TargetKind, Pick<Watched<TargetMetadata>, "store" | "onChange">>>;

interface ShownTargetsOptions {
  readonly kind: SyncKind;
  readonly resources: Watched<KubeObject>;
  readonly parse: (object: KubeObject) => ParsedResource;
  readonly targets: Targets;
}

/** Returns the resources by kind, fanned-out ones with what their targets show. */
export const withShownTargets = (
  resources: ResourcesByKind,
  parse: (kind: SyncKind, object: KubeObject) => ParsedResource,
  targets: Targets,
): Readonly<Record<SyncKind, Watched<KubeObject>>> =>
  forEachKind((kind) =>
    fansOut(kind)
      ? new ShownTargets({
          kind,
          resources: resources[kind],
          parse: (object) => parse(kind, object),
          targets,
        })
      : resources[kind],
  );

/**
 * Fanned-out resources whose statuses say what their targets have, as the annotations of the
 * targets do: another process may write the targets, and has their statuses in its memory. The
 * digest in such a status is one of the versions and sources of all keys.
 */
class ShownTargets implements Watched<KubeObject> {
  readonly store: ReadonlyStore<KubeObject>;
  readonly #options: ShownTargetsOptions;

  constructor(options: ShownTargetsOptions) {
    this.#options = options;
    const { store } = options.resources;
    const show = (object: KubeObject): KubeObject => this.#show(object);
    this.store = {
      get size() {
        return store.size;
      },
      get: (key) => {
        const object = store.get(key);
        return object && show(object);
      },
      has: (key) => store.has(key),
      keys: () => store.keys(),
      *values() {
        for (const object of store.values()) yield show(object);
      },
      *entries() {
        for (const [key, object] of store.entries()) yield [key, show(object)];
      },
      indexed: (name) => store.indexed(name),
    };
  }

  onChange(handler: (change: StoreChange<KubeObject>) => void): Disposable {
    const { resources, targets } = this.#options;
    const stack = new DisposableStack();
    stack.use(
      resources.onChange((change) => {
        if (change.type === "added") handler({ ...change, now: this.#show(change.now) });
        else if (change.type === "deleted")
          handler({ ...change, before: this.#show(change.before) });
        else
          handler({
            ...change,
            before: this.#show(change.before),
            now: this.#show(change.now),
          });
      }),
    );
    for (const target of Object.values(targets))
      stack.use(target.onChange((change) => this.#targetChanged(change, handler)));
    return stack;
  }

  onReconnect(handler: () => void): Disposable {
    return this.#options.resources.onReconnect(handler);
  }

  #targetChanged(
    change: StoreChange<TargetMetadata>,
    handler: (change: StoreChange<KubeObject>) => void,
  ): void {
    const before = change.type === "added" ? undefined : change.before;
    const shown = change.type === "deleted" ? change.before : change.now;
    for (const owner of ownerKeys(change.key, shown)) {
      const { kind, objectKey } = parseSyncKey(owner);
      const object = this.#options.resources.store.get(objectKey);
      if (kind !== this.#options.kind || object === undefined) continue;
      handler({
        type: "updated",
        key: objectKey,
        before: this.#show(object, () => before),
        now: this.#show(object),
      });
    }
  }

  #show(
    object: KubeObject,
    metadataOf: (kind: TargetKind, key: string) => TargetMetadata | undefined = (kind, key) =>
      this.#options.targets[kind].store.get(key),
  ): KubeObject {
    const { resource } = this.#options.parse(object);
    const { kind, name } = resource.target;
    const metadata = metadataOf(kind, keyOf({ namespace: resource.namespace, name }));
    if (metadata === undefined || !isOwnedBy(resource, metadata))
      return { ...object, status: undefined };
    // What an edit left says nothing about the content: the record of the workload stays.
    const state = targetState(resource, metadata);
    if (state.state !== "owned" || state.annotationsCorrupted)
      return { ...object, status: { target: { kind, name } } };
    return { ...object, status: { target: { kind, name, digest: claimsDigest(state.synced) } } };
  }
}

/** Returns the digest of what the bytes are made of. Rules that they fit, and that find them, are not. */
export function claimsDigest(claims: Claims): string {
  const all = [...claims]
    .sort(byKey)
    .map(([id, { version, source, createdAt = null, form }]) => [
      id,
      version,
      source,
      createdAt,
      madeBy(form),
    ]);
  return `claims.${shortDigest(all)}`;
}
