import {
  CONTENT_ANNOTATION,
  MANAGED_BY_LABEL,
  OWNER_ANNOTATION,
  SOURCES_ANNOTATION,
  VERSIONS_ANNOTATION,
} from "../../api/names.ts";
import { CONFIG_MAPS, type KubeObject, type ResourceDescriptor, SECRETS } from "../../kube/resource.ts";
import type { TargetKind } from "../../sync/sync-resource.ts";
import type { TargetMetadata } from "../../sync/target.ts";

export const targetDescriptor: Readonly<Record<TargetKind, ResourceDescriptor>> = { Secret: SECRETS, ConfigMap: CONFIG_MAPS };

function only(names: readonly string[], from: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(from ?? {}).filter(([name]) => names.includes(name)));
}

/** Returns the metadata of a watched object that is kept in memory: its ownership and the annotations about its content. */
export function targetMetadata({ metadata }: KubeObject): TargetMetadata {
  return {
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    labels: only([MANAGED_BY_LABEL], metadata.labels),
    annotations: only([OWNER_ANNOTATION, CONTENT_ANNOTATION, VERSIONS_ANNOTATION, SOURCES_ANNOTATION], metadata.annotations),
    owners: (metadata.ownerReferences ?? []).map(({ uid, name, controller = false }) => ({
      uid,
      controller,
      name: controller ? name : "",
    })),
    deleting: metadata.deletionTimestamp !== undefined,
  };
}
