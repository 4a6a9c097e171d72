import {
  CONFIG_MAPS,
  groupOf,
  type KubeObject,
  type ResourceDescriptor,
  SECRETS,
} from "../../kube/resource.ts";
import { ownerKeys } from "../../sync/owner-keys.ts";
import type { TargetMetadata } from "../../sync/target.ts";
import { parseSyncKey } from "../../sync/sync-key.ts";
import {
  ADOPT_ANNOTATION,
  CONFIRM_REMOVALS_ANNOTATION,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  MERGE_DOMAIN,
  MERGED_LABEL,
} from "../../api/names.ts";
import { shared } from "../../lib/shared-strings.ts";
import { managedNames } from "../../sync/managed-metadata.ts";
import { TARGET_ANNOTATIONS } from "../../api/target-annotations.ts";
import type { TargetKind } from "../../sync/sync-resource.ts";

export const targetDescriptor: Readonly<Record<TargetKind, ResourceDescriptor>> = {
  Secret: SECRETS,
  ConfigMap: CONFIG_MAPS,
};

function only(
  names: readonly string[],
  from: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const isKept = (name: string): boolean =>
    names.includes(name) || name.startsWith(`${MERGE_DOMAIN}/`);
  return Object.fromEntries(Object.entries(from ?? {}).filter(([name]) => isKept(name)));
}

const OWN_ANNOTATIONS = [...TARGET_ANNOTATIONS, ADOPT_ANNOTATION, CONFIRM_REMOVALS_ANNOTATION];

const ONLY_MANAGED = { [MANAGED_BY_LABEL]: MANAGED_BY };

/** Nearly all targets have this label alone. */
function shareLabels(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.keys(labels).length === 1 && labels[MANAGED_BY_LABEL] === MANAGED_BY
    ? ONLY_MANAGED
    : labels;
}

/**
 * Returns the metadata of a watched object that is kept in memory: its ownership, the annotations
 * about its content, and the labels and annotations that its resource requested.
 */
export function targetMetadata({ metadata }: KubeObject): TargetMetadata {
  const managed = managedNames(metadata.annotations);
  return {
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    labels: shareLabels(only([MANAGED_BY_LABEL, MERGED_LABEL, ...managed.labels], metadata.labels)),
    annotations: only([...OWN_ANNOTATIONS, ...managed.annotations], metadata.annotations),
    owners: (metadata.ownerReferences ?? []).map(
      ({ uid, apiVersion, kind, name, controller = false }) => ({
        uid,
        controller,
        name: controller ? name : "",
        ...(controller && { kind, group: shared(groupOf(apiVersion)) }),
      }),
    ),
    deleting: metadata.deletionTimestamp !== undefined,
  };
}

/**
 * Returns the names of a target in the index by owner. Most targets have the name of their owner
 * and are found by it: omitting them from the index saves memory.
 */
export function ownerIndex(key: string, metadata: TargetMetadata): string[] {
  return ownerKeys(key, metadata).filter((owner) => parseSyncKey(owner).objectKey !== key);
}
