import { isObject } from "../../../lib/is-object.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { entriesOf, type SyncKind } from "../../sync/sync-key.ts";
import type { Snapshot } from "../../vault-client/connection.ts";

/** The part of a list that shows when versions were created. */
export type ListedVersions = Pick<Snapshot, "secrets" | "file">;

// Both functions below run for all resources at the start and decide only about the order of work:
// they read single fields of the status.
const statusOf = ({ status }: KubeObject): Readonly<Record<string, unknown>> =>
  isObject(status) ? status : {};

/**
 * Reports whether the status is about the current spec. When the operator starts, that holds for
 * each unchanged resource.
 */
export const isObserved = (object: KubeObject): boolean =>
  statusOf(object)["observedGeneration"] === object.metadata.generation;

/**
 * Reports whether the vault lists a version of a source that is younger than the last sync of the
 * resource. The clocks of vault and operator may differ: only the order of work may depend on the
 * result.
 */
export function changedSinceSync(
  kind: SyncKind,
  object: KubeObject,
  sources: readonly string[],
  list: ListedVersions,
): boolean {
  const { syncedAt } = statusOf(object);
  const synced = typeof syncedAt === "string" ? Date.parse(syncedAt) : Number.NaN;
  const isYounger = (source: string): boolean => {
    if (entriesOf(kind) === "file") return (list.file(source)?.createdAt ?? 0) > synced;
    return list.secrets(source).some(({ createdAt = 0 }) => createdAt > synced);
  };
  return sources.some(isYounger);
}
