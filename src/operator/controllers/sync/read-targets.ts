import type { Watched } from "../../kube/cache/filtered-view.ts";
import { readStatus } from "../../sync/sync-status.ts";
import type { TargetKind } from "../../sync/sync-resource.ts";
import type { TargetMetadata } from "../../sync/target.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { SourceKind } from "./source-kind.ts";
import { parseSyncKey, type SyncKind } from "./sync-key.ts";
import type { SyncedKind } from "./sync-reconciler.ts";

export type WatchedTargets = Readonly<Record<TargetKind, Watched<TargetMetadata>>>;

/**
 * Reads the target of a resource, and the former one that its status names, where no watch shows them (`--target-watch=off`). Call
 * it before each reconcile.
 * @throws KubeError
 */
export async function readTargets(
  key: string,
  kinds: Readonly<Record<SyncKind, SyncedKind>>,
  targets: WatchedTargets,
  signal: AbortSignal,
): Promise<void> {
  const { kind, objectKey } = parseSyncKey(key);
  const { source, resources } = kinds[kind];
  const object = resources.get(objectKey);
  if (object === undefined) return;
  if (targets.Secret.read === undefined && targets.ConfigMap.read === undefined) return;
  const { namespace, target } = source.parse(object).resource;
  const { target: former } = readStatus(kind, object["status"]);
  await targets[target.kind].read?.({ namespace, name: target.name }, signal);
  if (former === undefined || (former.kind === target.kind && former.name === target.name)) return;
  if (former.kind === "Secret" || former.kind === "ConfigMap") {
    await targets[former.kind].read?.({ namespace, name: former.name }, signal);
  }
}

/** Drops what was read of the target of a deleted resource. */
export function forgetTarget(source: SourceKind, object: KubeObject, targets: WatchedTargets): void {
  const { namespace, target } = source.parse(object).resource;
  targets[target.kind].forget?.({ namespace, name: target.name });
}
