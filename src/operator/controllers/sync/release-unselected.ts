import type { KubeApi } from "../../kube/client/kube-api.ts";
import { GONE, type ReconcileResult } from "../../runtime/controller.ts";
import { parseSyncKey, type SyncKind } from "../../sync/sync-key.ts";
import { dropOwner } from "./release-target.ts";
import type { SyncedKind } from "./source-kind.ts";
import type { TargetRecords } from "./target-records.ts";

interface Options {
  readonly api: KubeApi;
  readonly kinds: Readonly<Record<SyncKind, SyncedKind>>;
  readonly targets: TargetRecords;
}

/**
 * Reconciles a resource that does not exist. If that is because the namespace is not selected any
 * more, its targets are left: they keep their content, and are not deleted with the resource. They
 * also keep the marks of their owner. If the namespace is selected again, the resource takes them
 * back.
 * @throws KubeError
 */
export async function releaseUnselected(
  options: Options,
  key: string,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { kind, objectKey } = parseSyncKey(key);
  const { source, unselected } = options.kinds[kind];
  const object = unselected?.(objectKey);
  const parsed = object && source.parse(object);
  if (parsed?.ok !== true || parsed.resource.suspend) return GONE;
  await options.targets.readUnwatched(parsed.resource, undefined, signal);
  for (const { former, metadata } of options.targets.owned(parsed.resource))
    await dropOwner(options, former, metadata, signal);
  return GONE;
}
