import type { KubeApi } from "../../kube/client/kube-api.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { isMerged, type SyncResource } from "../../sync/sync-resource.ts";
import type { SyncStatus } from "../../sync/sync-status.ts";
import { type TargetMetadata, type TargetState, targetState } from "../../sync/target.ts";
import { isOlder } from "../status/own-writes.ts";
import { targetDescriptor, targetMetadata } from "./target-metadata.ts";
import type { TargetRecords } from "./target-records.ts";

/** Reports whether the watch shows an earlier state of the target than the status names, which another process wrote. */
export function isOutdated(watched: TargetMetadata | undefined, { target }: SyncResource, status: SyncStatus): boolean {
  const { kind, name, resourceVersion } = status.target ?? {};
  if (watched === undefined || resourceVersion === undefined || kind !== target.kind || name !== target.name) return false;
  return isOlder(watched.resourceVersion, resourceVersion);
}

/** Reads the metadata of a target from the API server, because the watch does not show it. @throws KubeError */
export async function lookUpTarget(
  { api, targets }: { readonly api: KubeApi; readonly targets: TargetRecords },
  resource: SyncResource,
  signal: AbortSignal,
): Promise<TargetState | "deleting"> {
  const { kind, name } = resource.target;
  const object = await api
    .getMetadata(targetDescriptor[kind], { namespace: resource.namespace, name }, signal)
    .catch((error: unknown) => {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    });
  if (object === undefined) targets.recordAbsence(resource);
  else if (!isMerged(resource)) targets.recordRead(resource, object);
  const metadata = isMerged(resource) ? object && targetMetadata(object) : targets.metadata(resource);
  return metadata?.deleting === true ? "deleting" : targetState(resource, metadata);
}
