import { findCondition } from "../../api/conditions.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { ifFound } from "../../kube/kube-error.ts";
import { isMerged, type SyncResource } from "../../sync/sync-resource.ts";
import { fansOut } from "../../sync/sync-key.ts";
import type { SyncStatus } from "../../sync/stored-status.ts";
import {
  isOwnedBy,
  type TargetMetadata,
  type TargetState,
  targetState,
} from "../../sync/target.ts";
import { isOlder } from "../outcome/own-writes.ts";
import { targetDescriptor, targetMetadata } from "./target-metadata.ts";
import type { TargetRecords } from "./target-records.ts";

interface Targets {
  readonly api: KubeApi;
  readonly targets: TargetRecords;
}

/**
 * The state of a target; `deleting` if the object waits for its finalizers; `whole` if it belongs
 * to a resource as a whole that only merges keys, because its policy was another one.
 */
export type FoundTarget = TargetState | "deleting" | "whole";

/** Returns the state of a target from its metadata. */
export function currentState(
  resource: SyncResource,
  metadata: TargetMetadata | undefined,
): FoundTarget {
  if (metadata?.deleting === true) return "deleting";
  return isMerged(resource) && metadata && isOwnedBy(resource, metadata)
    ? "whole"
    : targetState(resource, metadata);
}

/**
 * Returns the state of the target that the watch shows. Reads it where the watch cannot show it, or
 * lags behind a status that another process wrote. @throws KubeError
 */
export async function findTarget(
  options: Targets,
  resource: SyncResource,
  before: SyncStatus,
  signal: AbortSignal,
): Promise<FoundTarget> {
  const { targets } = options;
  await targets.readUnwatched(resource, before.target, signal);
  const watched = targets.metadata(resource);
  const isUnknown =
    watched === undefined ? mayBeHidden(resource, before) : isOutdated(watched, resource, before);
  return isUnknown ? lookUpTarget(options, resource, signal) : currentState(resource, watched);
}

const isShown = ({ target }: SyncResource, shown: SyncStatus["target"]): boolean =>
  shown?.kind === target.kind && shown.name === target.name;

/**
 * Reports whether an object that the watch does not show may exist, because it lacks the label: an
 * object of another owner, or a target that was in sync and whose label a tool removed.
 */
function mayBeHidden(resource: SyncResource, { target, conditions }: SyncStatus): boolean {
  const reason = findCondition(conditions, "Ready")?.reason;
  const hadConflict = reason === "TargetConflict" || reason === "AdoptionHeld";
  return (
    isMerged(resource) ||
    hadConflict ||
    // A process begins with a status of all namespaces. That has no digest.
    (isShown(resource, target) && (target?.digest !== undefined || fansOut(resource.kind)))
  );
}

/**
 * Reports whether the watch shows an earlier state of the target than the status that another
 * process wrote.
 */
function isOutdated(
  { resourceVersion }: TargetMetadata,
  resource: SyncResource,
  { target }: SyncStatus,
): boolean {
  return (
    isShown(resource, target) &&
    target?.resourceVersion !== undefined &&
    isOlder(resourceVersion, target.resourceVersion)
  );
}

/** Reads the state of a target from the API server. @throws KubeError */
export async function lookUpTarget(
  { api, targets }: Targets,
  resource: SyncResource,
  signal: AbortSignal,
): Promise<FoundTarget> {
  const { kind, name } = resource.target;
  const ref = { namespace: resource.namespace, name };
  const object = await ifFound(api.getMetadata(targetDescriptor[kind], ref, signal));
  const metadata = object && targetMetadata(object);
  if (metadata === undefined) targets.recordAbsence(resource);
  else targets.recordLookUp(resource, metadata);
  return currentState(resource, metadata);
}
