import type { Watched } from "../../kube/cache/filtered-view.ts";
import { namespaceOf } from "../../kube/resource.ts";
import { type SyncKind, syncKey } from "../../sync/sync-key.ts";
import type { SyncResource, TargetKind } from "../../sync/sync-resource.ts";

type Watches = Readonly<Record<TargetKind, Pick<Watched<unknown>, "store">>>;

/** Returns the names of the objects of a kind that the stores may have of a resource. */
export function ownedNames(
  watched: Watches,
  { kind, namespace, name }: Pick<SyncResource, "kind" | "namespace" | "name">,
  targetKind: TargetKind,
): string[] {
  const { store } = watched[targetKind];
  const others = [...store.indexed(syncKey(kind, `${namespace}/${name}`))].map((key) =>
    key.slice(namespace.length + 1),
  );
  return store.has(`${namespace}/${name}`) ? [name, ...others] : others;
}

/** The kinds of targets. */
export const TARGET_KINDS: readonly TargetKind[] = ["Secret", "ConfigMap"];

/** Reports whether the stores may have objects of a resource, by its key `<namespace>/<name>`. */
export function mayOwn(watched: Watches, kind: SyncKind, objectKey: string): boolean {
  const namespace = namespaceOf(objectKey);
  const resource = { kind, namespace, name: objectKey.slice(namespace.length + 1) };
  return TARGET_KINDS.some((one) => ownedNames(watched, resource, one).length > 0);
}
